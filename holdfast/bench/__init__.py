"""Loads and ratios: HoldFast over HTTP beside its peers, in one run on one machine, each promise checked afterwards.

scenarios → report                what is run, and how it is told
    ↓
rounds, figures                   arms take turns; medians and ranges
    ↓
ground → database, stock, checks  HoldFast on a database of its own
express, floor → scripts          what it is measured against
    ↓
client → load, processes          what is sent, from a process of its own; nothing outlives the run
"""
