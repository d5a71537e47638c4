"""The mock payment provider: a server of its own, which HoldFast asks over HTTP as it would ask a real one.

It keeps its books in one SQLite file, so that a kill loses nothing, and does on request what real providers do on bad
days: the method of a charge chooses the fault. It moves no money, listens on loopback alone, and asks nobody's name.

    server → handler → requests, methods     HTTP, what was asked for, and the fault that was chosen
                ↓
    sender → deliveries ← ledger → schema    charges, refunds and the queue of callbacks
    books                                    the same file, read by others
"""
