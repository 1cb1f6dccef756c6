"""The MCP server: the commands as tools of a long-lived process, with their answers as objects."""
