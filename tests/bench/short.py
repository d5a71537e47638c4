"""One scenario, in short, in a process with one thread: `python -m tests.bench.short SCENARIO PORT TENANT KEY`.

On the database, the Redis and the web of the tests, so that none has to be made for it; told as JSON.
"""

import json
import os
import sys
from uuid import UUID

import django


def run(scenario: str, port: int, tenant_id: UUID, key: str) -> str:
    django.setup()
    from holdfast.bench.ground import Ground  # noqa: PLC0415 - models come after the setup
    from holdfast.bench.options import Options  # noqa: PLC0415 - the same
    from holdfast.bench.report import as_json, machine  # noqa: PLC0415 - the same
    from holdfast.bench.scenarios import SCENARIOS  # noqa: PLC0415 - the same

    ground = Ground(dict(os.environ), port, tenant_id, key)
    findings = SCENARIOS[scenario].run(ground, Options(seconds=0.5, connections=2, rounds=1, count=40))
    return json.dumps(as_json(scenario, findings, machine(), ground.check()))


if __name__ == "__main__":
    sys.stdout.write(run(sys.argv[1], int(sys.argv[2]), UUID(sys.argv[3]), sys.argv[4]))
