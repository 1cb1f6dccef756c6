"""The reference validator: every statement as a pydantic model, written from `docs/format.md` and not from our code."""
