// git-coord plugin: made by `git coord adapter install opencode`, removed by `git coord adapter uninstall opencode`.
// Version 1 of opencode uses `server`, version 2 `setup`; each ignores the other.
import { spawnSync } from "node:child_process"

const LOOKED_AT = ["edit", "write", "patch", "apply_patch", "bash", "shell"]

// Ask one event; null when the program is missing, slow or broken: then the call goes on, as CI and git hooks judge later.
const ask = (event, cwd, fields) => {
  const done = spawnSync("git-coord", ["hook", "opencode", event], {
    cwd, timeout: 30000, encoding: "utf8", input: JSON.stringify({ cwd, ...fields }),
  })
  try { return JSON.parse(done.stdout) } catch { return null }
}

const isLookedAt = (tool) => LOOKED_AT.includes(tool) || /edit|write|create|delete|move|rename|patch/i.test(tool)

export default {
  id: "git-coord",
  server: async ({ directory }) => ({
    "tool.execute.before": async (input, output) => {
      if (!isLookedAt(input.tool)) return
      const said = ask("pre-edit", directory, { sid: input.sessionID, tool: input.tool, args: output.args })
      if (said?.deny) throw new Error(said.reason)
    },
    "tool.execute.after": async (input, output) => {
      if (!isLookedAt(input.tool)) return
      const said = ask("post-edit", directory, { sid: input.sessionID, tool: input.tool, args: input.args })
      if (said?.notes && typeof output?.output === "string") output.output += `\n${said.notes}`
    },
    event: async ({ event }) => {
      const sid = event.properties?.sessionID ?? event.properties?.info?.id
      const ours = { "session.created": "session-start", "session.idle": "stop", "session.deleted": "session-end" }[event.type]
      if (ours && sid) ask(ours, directory, { sid })
    },
  }),
  async setup(ctx) {
    await ctx.permission.hook("evaluate", async (call) => {
      if (call.action !== "edit") return
      const said = ask("pre-edit", ctx.location.directory, { sid: call.sessionID, paths: call.resources })
      if (said?.deny) { call.effect = "deny"; call.message = said.reason }
    })
  },
}
