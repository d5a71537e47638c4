"""The services of a fresh machine: PostgreSQL and Valkey from wheels, and the processes that use them.

`./hold` starts here. Nothing in this package imports Django: it runs before the settings can be read. Of
HoldFast it knows `holdfast.env` alone, which says whether what the environment tells Django is good.

    commands → serve → supervisor, web, mock_psp, demo   what a person asked for, and the processes it needs
        ↓
    services → lease ⇄ keeper             who needs a server, and who keeps it running
        ↓
    postgres, valkey → binaries, account  how each server is made, started and stopped
        ↓
    state, settings, locks, status, deathsig, errors
"""
