"""What a judgement of commits asks of the user's history and of the ledger's, beyond receipts and claims."""
