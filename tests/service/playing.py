"""Short ways to say what tests send."""

from typing import Any

import httpx

import sparsebandits as sb

POLICY = sb.SparseThompson(action_set=sb.LpBall(dim=4), sparsity=2)


def create(
    client: httpx.Client, key: str = "a", policy: sb.Policy = POLICY, **more: Any
) -> httpx.Response:
    return client.put(f"/v1/learners/{key}", json={"policy": policy.to_dict(), **more})


def ask(client: httpx.Client, key: str = "a", **body: Any) -> Any:
    answer = client.post(f"/v1/learners/{key}/ask", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["decisions"]


def tell(
    client: httpx.Client, number: int, reward: Any, key: str = "a", **query: Any
) -> httpx.Response:
    path = f"/v1/learners/{key}/decisions/{number}/reward"
    return client.put(path, json={"reward": reward}, params=query)


def exported(client: httpx.Client, key: str = "a") -> Any:
    answer = client.get(f"/v1/learners/{key}/export")
    assert answer.status_code == 200, answer.text
    return answer.json()


def kind_of(answer: httpx.Response) -> str:
    """Return the kind of a problem; everything that is refused is one."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert set(problem) == {"type", "title", "status", "detail"}
    kind: str = problem["type"].removeprefix("urn:sparsebandits:")
    return kind
