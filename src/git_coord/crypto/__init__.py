"""Signatures: a strict SSHSIG codec, keys, and who may sign as whom."""
