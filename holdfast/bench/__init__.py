"""Loads and ratios: HoldFast over HTTP beside its peers, in one run on one machine, each promise checked afterwards.

scenarios → report                what is run, and how it is told
    ↓
rounds, figures                   arms take turns; medians and ranges
    ↓
ground → database, stock, checks  HoldFast on a database of its own
express, floor → scripts          what it is measured against
deliverers, listening, messages   who delivers webhooks, who takes them, what is told
cpu, statements                   what that costs
    ↓
client, receiver, load, processes what is sent and taken, from a process of its own; nothing outlives the run
"""
