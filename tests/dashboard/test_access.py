"""Who may see and do what, over real HTTP; and that looking changes nothing."""

import csv
import html
import io
import json
import re
import subprocess
import time
from typing import Any

import httpx
import pytest

import sparsebandits as sb
from sparsebandits.dashboard.access import HEADERS
from sparsebandits.dashboard.sessions import COOKIE
from sparsebandits.store import Store
from sparsebandits.sweeps.schema import parquet
from tests.dashboard.visitors import Visitors, csrf_in, post
from tests.service import playing
from tests.stores import new_token, use

NAMES = ["tv", "radio", "print", "search"]
MIX = sb.Budget(total=1.0, upper=[1.0] * 4, names=NAMES)
PAGES = ("", "/what-if?sparsity=1&off=tv&budget=0.5", "/decisions", "/health", "/decisions.csv")


def played(visitors: Visitors, key: str, rewards: int = 12) -> httpx.Client:
    """Make a learner over the interface, with rewards told and one decision open."""
    client = visitors.client()
    playing.create(client, key, sb.SparseThompson(action_set=MIX, sparsity=2))
    for number in range(1, rewards + 1):
        playing.ask(client, key)
        playing.tell(client, number, 0.1 * number, key)
    playing.ask(client, key)
    return client


def test_a_session_stands_for_a_token(visitors: Visitors) -> None:
    anonymous = visitors.client("")
    away = anonymous.get("/learners/a?by=time")
    assert away.status_code == 303
    assert away.headers["location"] == "/login?next=/learners/a%3Fby%3Dtime"
    assert anonymous.post("/learners/a/tell").status_code == 401

    token = new_token(visitors.server.store, "read")
    client, answer = visitors.log_in(token)
    assert answer.status_code == 303
    [cookie] = [line for line in answer.headers.get_list("set-cookie") if line.startswith(COOKIE)]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "Secure" not in cookie  # this is plain HTTP
    assert token not in cookie
    assert token.split("_", 2)[2] not in str(client.cookies)
    page = client.get("/")
    assert page.status_code == 200
    assert {name: page.headers[name] for name in HEADERS} == HEADERS
    assert "script-src 'self';" in page.headers["content-security-policy"]
    assert "<script>" not in page.text
    assert " style=" not in page.text

    secret = token.split("_")[1]
    use(visitors.server.store, lambda store: _revoke(store, secret))
    deadline = time.monotonic() + 10
    while client.get("/").status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert client.get("/").headers["location"].startswith("/login")


async def _revoke(store: Store, token: str) -> None:
    async with store.transaction() as transaction:
        assert await transaction.revoke_token(token, time.time())


def test_behind_tls_the_cookie_is_secure(visitors: Visitors) -> None:
    client = visitors.client("")
    client.headers["x-forwarded-proto"] = "https"  # by a proxy on this machine
    lines = client.get("/login").headers.get_list("set-cookie")
    assert all("Secure" in line for line in lines)


def test_wrong_tokens_and_forms_of_others_are_refused(visitors: Visitors) -> None:
    client, answer = visitors.log_in("sb_0123_wrong")
    assert answer.status_code == 401
    assert "unknown, revoked or expired" in answer.text
    assert client.get("/").status_code == 303
    forged = visitors.client("").post("/login", data={"token": new_token(visitors.server.store)})
    assert forged.status_code == 401  # no form was asked for

    played(visitors, "forms")
    mine = visitors.enter()
    for fields in ({}, {"csrf": "x"}, {"csrf": csrf_in(visitors.enter().get("/"))}):
        answer = mine.post("/learners/forms/forget", data={**fields, "id": "13"})
        assert answer.status_code == 403
    assert mine.post("/logout", data={}).status_code == 403
    assert post(mine, "/", "/logout").headers["location"] == "/login"
    assert mine.get("/").status_code == 303
    outside = visitors.client("").get("/login", params={"next": "https://evil.example/"})
    assert 'name="next" value="/"' in outside.text


def test_scopes_and_prefixes_hold(visitors: Visitors) -> None:
    played(visitors, "shop.a")
    played(visitors, "other")
    reader, player = visitors.enter("read"), visitors.enter("play", "shop.")
    page = reader.get("/learners/shop.a/decisions")
    assert page.text.count('method="post"') == 1  # to log out
    csrf = csrf_in(page)
    for path in ("ask", "tell", "forget"):
        data = {"csrf": csrf, "id": "13", "reward": "1"}
        assert reader.post(f"/learners/shop.a/{path}", data=data).status_code == 403
    assert reader.get("/new").status_code == 403
    assert "/new" not in reader.get("/").text

    listed = player.get("/").text
    assert "shop.a" in listed
    assert "/learners/other" not in listed
    assert player.get("/learners/other").status_code == 403
    assert player.get("/learners/other/decisions.csv").status_code == 403
    told = post(player, "/learners/shop.a/decisions", "/learners/shop.a/tell", id="13", reward="2")
    assert told.status_code == 303
    assert "Decision 13 has the reward 2" in player.get(told.headers["location"]).text
    assert player.post("/new", data={"csrf": csrf}).status_code == 403


def test_forms_do_what_calls_do(visitors: Visitors) -> None:
    played(visitors, "told")
    client, at = visitors.enter(), "/learners/told"
    again = post(client, f"{at}/decisions", f"{at}/tell", id="3", reward="7")
    assert again.status_code == 409
    assert "tick &#39;in the place of one told before&#39;" in again.text
    assert "?correct" not in again.text
    assert f'<a href="{at}/decisions">Back' in again.text
    assert "in the place of one told before" in client.get(f"{at}/decisions").text
    post(client, f"{at}/decisions", f"{at}/tell", id="3", reward="7", correct="yes")
    post(client, f"{at}/decisions", f"{at}/ask")
    post(client, f"{at}/decisions", f"{at}/forget", id="13")
    assert post(client, f"{at}/decisions", f"{at}/tell", id="99", reward="1").status_code == 404
    assert post(client, f"{at}/decisions", f"{at}/tell", id="14", reward="nan").status_code == 422
    page = client.get(f"{at}/decisions", params={"state": "corrected"})
    assert "corrected (1)" in page.text
    text = client.get(f"{at}/decisions.csv", params={"state": "all"}).text
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(text))}
    assert rows["3"]["reward"] == "7.0"
    assert rows["3"]["corrected"] == "True"
    assert {rows["13"]["state"], rows["14"]["state"]} == {"forgotten", "open"}
    assert set(json.loads(rows["3"]["action"])) <= set(NAMES)
    content = client.get(f"{at}/decisions.parquet", params={"state": "told"}).content
    table = parquet().read_table(io.BytesIO(content)).to_pylist()
    assert len(table) == 12
    assert table[2]["reward"] == 7.0
    assert dict(table[2]["action"]) == json.loads(rows["3"]["action"])


def test_looking_changes_nothing(visitors: Visitors) -> None:
    """The log and every bit of the learner stay as they are, whatever page is looked at."""
    calls = played(visitors, "seen", 20)

    def everything() -> tuple[object, object]:
        return playing.exported(calls, "seen"), calls.get("/v1/learners/seen/history").json()

    before, client = everything(), visitors.enter()
    for page in PAGES:
        assert client.get(f"/learners/seen{page}").status_code == 200, page
    assert client.get("/").status_code == 200
    assert everything() == before
    first = client.get("/learners/seen")
    known = {"If-None-Match": first.headers["etag"], "X-Live": "1"}
    assert client.get("/learners/seen", headers=known).status_code == 304
    playing.tell(calls, 21, 0.5, "seen")
    deadline = time.monotonic() + 20
    while (changed := client.get("/learners/seen", headers=known)).status_code == 304:
        assert time.monotonic() < deadline  # a page that is open need not be the first to know
        time.sleep(0.05)
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]


def test_pages_of_what_is_not_there(visitors: Visitors) -> None:
    client = visitors.enter()
    assert client.get("/learners/nobody").status_code == 404
    assert "Back to" not in client.get("/learners/nobody/decisions").text
    assert client.get("/learners/no body/health").status_code == 422
    assert client.get("/static/secret").status_code == 404
    assert client.get("/?sort=shoe").status_code == 422
    for path in ("/learners", "/learners/a/tell"):  # a page, for a person alone
        shown = client.get(path, headers={"accept": "text/html,*/*;q=0.8"})
        assert shown.status_code == 404
        assert "There is nothing at this address" in shown.text
        assert {name: shown.headers[name] for name in HEADERS} == HEADERS
        assert client.get(path).headers["content-type"] == "application/problem+json"
    calls = played(visitors, "gone")
    calls.delete("/v1/learners/gone")
    assert client.get("/learners/gone").status_code == 410


def test_lines_to_copy_run(visitors: Visitors, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the form shows makes just this learner, in the shell and in Python."""
    client = visitors.enter()
    fields = {"key": "copied", "set": "box", "names": "it's, two", "sparsity": "1"}
    fields |= {"lower": "0", "upper": "1 2", "seed": "3", "reward_wait": "60"}
    shown = post(client, "/new", "/new", do="show", **fields)
    assert "Nothing was made yet" in shown.text
    assert client.get("/learners/copied").status_code == 404
    made = post(client, "/new", "/new", do="make", **fields)
    assert made.status_code == 201
    curl, python = (
        html.unescape(text) for text in re.findall(r"<pre[^>]*>(.*?)</pre>", made.text, re.DOTALL)
    )
    monkeypatch.setenv("TOKEN", new_token(visitors.server.store))
    done = subprocess.run(["sh", "-e"], input=curl, capture_output=True, text=True, check=True)
    created, asked, told = json_values(done.stdout)
    assert created["key"] == "copied"  # the same again is no conflict
    assert created["reward_wait"] == 60
    [(name, dose)] = asked["decisions"][0]["action"].items()
    assert f"<strong>{html.escape(name)}</strong>: {dose:g}" in made.text.replace("&#39;", "&#x27;")
    assert told["state"] == "told"
    exec(python, {})
    assert playing.exported(visitors.client(), "copied")["state"]["next_id"] == 3

    again = post(client, "/new", "/new", do="make", **{**fields, "seed": "4"})
    assert again.status_code == 422
    assert "exists with another" in again.text
    for wrong in ({"names": ""}, {"upper": "1 2 3"}, {"names": "5000"}, {"set": "described"}):
        assert post(client, "/new", "/new", do="show", **{**fields, **wrong}).status_code == 422
    described = json.dumps(playing.POLICY.to_dict())
    fields |= {"set": "described", "described": described, "key": "described"}
    assert post(client, "/new", "/new", do="make", **fields).status_code == 201


def test_the_noise_level_of_the_form_reaches_whatever_policy_it_is_given_for(
    visitors: Visitors,
) -> None:
    client = visitors.enter()
    ball = {"key": "loud", "set": "lp-ball", "names": "4", "sparsity": "1"}

    def answer(policy: str, sigma: str, settings: str = "") -> tuple[int, str]:
        fields = {"policy": policy, "sigma": sigma, "settings": settings, "do": "show"}
        shown = post(client, "/new", "/new", **ball, **fields)
        return shown.status_code, html.unescape(shown.text)

    for kind, settings in (
        ("sparse-thompson", "half_life=50"),
        ("apsee", ""),
        ("time-varying", ""),
    ):
        status, text = answer(kind, "0.3", settings)
        assert (status, '"sigma": 0.3' in text) == (200, True), kind
    assert '"sigma":' not in answer("sparse-thompson", "")[1]
    status, text = answer("time-varying", "")
    assert (status, "cannot estimate the noise level" in text) == (422, True)
    status, text = answer("pege", "0.3")  # it has no use for it, and nobody should think it has
    assert (status, "has no key 'sigma'" in text) == (422, True)


def json_values(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects that stand one after another."""
    values, decoder = [], json.JSONDecoder()
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:]
    return values
