"""The OpenAPI description: schemathesis draws requests from it, and no answer is a 500."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparsebandits.service.calls import CALLS
from sparsebandits.service.openapi import describe_api
from tests.service.playing import ask, create, tell
from tests.service.servers import Farm

schemathesis = pytest.importorskip("schemathesis")


@pytest.fixture
def client(farm: Farm, tmp_path: Path) -> Iterator[httpx.Client]:
    with farm.serve(f"sqlite:///{tmp_path / 'store.db'}", max_dim=20).client() as client:
        create(client, "a")
        ask(client, count=3)
        tell(client, 1, 0.5)
        yield client


def test_the_description_is_served_and_lists_every_call(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert described == describe_api(CALLS)
    listed = {
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    }
    assert listed == {(call.method, call.path) for call in CALLS}
    for call in CALLS:
        operation = described["paths"][call.path][call.method.lower()]
        assert operation["summary"] == call.about
        assert call.about
        if call.body is not None:
            assert "example" in operation["requestBody"]["content"]["application/json"]


def test_the_examples_work(client: httpx.Client) -> None:
    for call in CALLS:
        operation = describe_api(CALLS)["paths"][call.path][call.method.lower()]
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        if "example" in content and call.name != "tell many":
            create(client, "spring-campaign")
            path = call.path.format(key="new", id=1)
            answer = client.request(call.method, path, json=content["example"])
            assert answer.status_code in (200, 201), (call.name, answer.text)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_whatever_fits_the_description_is_answered_as_described(
    call: Any, client: httpx.Client, request: pytest.FixtureRequest
) -> None:
    schema = schemathesis.openapi.from_dict(describe_api(CALLS))
    operation = schema[call.path][call.method]
    thorough = request.config.getoption("thorough")

    @settings(
        max_examples=100 if thorough else 8,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=True,
    )
    @given(case=operation.as_strategy(), known=st.booleans())
    def run(case: Any, known: bool) -> None:
        if known and "key" in (case.path_parameters or {}):
            case.path_parameters["key"] = "a"
        if known and "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = 2
        answer = case.call(
            base_url=str(client.base_url),
            headers={"Authorization": client.headers["authorization"]},
        )
        assert answer.status_code < 500, answer.text
        case.validate_response(
            answer,
            checks=[
                schemathesis.checks.not_a_server_error,
                schemathesis.specs.openapi.checks.status_code_conformance,
                schemathesis.specs.openapi.checks.content_type_conformance,
                schemathesis.specs.openapi.checks.response_schema_conformance,
            ],
        )

    run()
