"""The OpenAPI document and the server agree, whatever is sent: no 5xx, no answer that the document does not have."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from serve.real import TOKEN, Real, running
from serve.world import day

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own libraries
    import schemathesis
    from schemathesis import checks
    from schemathesis.specs.openapi import checks as openapi

ENDLESS = "/live"  # a line that stays open is looked at in test_live.py
CHECKS = [
    checks.not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_schema_conformance,
]
EXAMPLES = 25  # of each operation


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_request_that_the_document_allows_or_forbids_breaks_the_server(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        address, headers = f"http://127.0.0.1:{server.port}", {"Authorization": f"Bearer {TOKEN}"}
        schema = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json", headers=headers)
        operations = [each.ok() for each in schema.get_all_operations()]  # type: ignore[union-attr] # it is ours
        assert len(operations) >= 18
        for operation in operations:
            if not operation.path.endswith(ENDLESS):
                _try(operation, headers, server)
        assert server.process.is_alive()


def _try(operation: Any, headers: dict[str, str], server: Real) -> None:
    server.ask("POST", "/api/v1/users/me/events", {"events": day()})

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def holds(case: Any) -> None:
        case.call_and_validate(headers=headers, timeout=60, checks=CHECKS)

    holds()
