"""The access policy as a table of allowed and refused requests."""

from __future__ import annotations

import pytest
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httputil import HTTPHeaders

from tilewright.app.server.access import AccessError, AccessPolicy, Answer, PassOn, make_policy
from tilewright.app.server.login import entry_page

TOKEN = "0123456789abcdef-token"
HOST = "127.0.0.1:5006"
HERE = make_policy(token=TOKEN)
TRUSTING = make_policy(requires_token=False)
OPEN = make_policy("0.0.0.0", TOKEN, ("tiles.example.org", "box:8888"))
BEHIND = make_policy(token=TOKEN, names=("tiles.example.org",), prefix="/tiles")
LINK = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}


def decided(policy: AccessPolicy, target: str = "/", method: str = "GET", **headers: str) -> Answer | PassOn:
    """Header names have underscores for hyphens."""
    named = {"Host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return policy.decide(method, target, HTTPHeaders(named))


def status(policy: AccessPolicy, target: str = "/", method: str = "GET", **headers: str) -> int:
    """The status of the response; 0 for a request that reaches the application."""
    decision = decided(policy, target, method, **headers)
    return 0 if isinstance(decision, PassOn) else decision.status


def ticket_of(policy: AccessPolicy) -> str:
    """The query of one load of a page."""
    return f"?ticket={policy.keys.new_ticket('page')}"


def is_entry(decision: Answer | PassOn, prefix: str = "") -> bool:
    """Whether the answer is the page for a visitor without a ticket, which is the same for all."""
    return isinstance(decision, Answer) and decision.status == 200 and decision.text == entry_page(prefix)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:5006",
        "localhost:5006",
        "localhost",
        "[::1]:5006",
        "127.0.0.1:8888",
        "LOCALHOST:5006",
        "[0:0:0:0:0:0:0:1]",
    ],
)
def test_names_of_this_machine_are_served(host: str) -> None:
    assert status(TRUSTING, Host=host) == 0


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:5006",
        "127.0.0.1.evil.example",
        "10.0.0.7:5006",
        "",
        "localhost:5006@evil.example",
        "a b",
        "[::1",
        "::1",
        "[::1%lo]:5006",
        "[::1]:5006@evil.example",
        "user@127.0.0.1:5006",
        "localhost.:5006",
        "127.0.0.1.:5006",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "127.0.0.1:5006,evil.example",
        "127.0.0.1:5006/",
        "localhost\u017f",
        "null",
        "x" * 9999,
    ],
)
def test_other_host_names_are_refused(host: str) -> None:
    """A page of another site whose DNS name resolves to this machine."""
    for policy in (TRUSTING, HERE):
        assert status(policy, Host=host) == 403
        assert status(policy, "/ws", Host=host) == 403
        assert status(policy, "/healthz", Host=host) == 403


def test_an_open_server_accepts_addresses_and_its_own_names() -> None:
    for host in ("10.0.0.7:5006", "tiles.example.org", "TILES.example.org:443", "box:8888"):
        assert status(OPEN, f"/{ticket_of(OPEN)}", Host=host) == 0
    for host in ("box:9999", "evil.example"):
        assert status(OPEN, f"/{ticket_of(OPEN)}", Host=host) == 403


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Origin": "http://127.0.0.1:5006"}, 0),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:5007"}, 403),
        ({"Origin": "http://localhost:5006"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Origin": "http://127.0.0.1:5006.evil.example"}, 403),
        ({"Origin": "https://127.0.0.1:5006"}, 403),
        ({"Origin": "ws://127.0.0.1:5006"}, 403),
        ({"Origin": "HTTP://127.0.0.1:5006"}, 0),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "http://127.0.0.1:5006/"}, 403),
        ({"Origin": "http://127.0.0.1:5006?x"}, 403),
        ({"Origin": "http://127.0.0.1:5006#x"}, 403),
        ({"Origin": "http://user@127.0.0.1:5006"}, 403),
        ({"Origin": "http://evil.example@127.0.0.1:5006"}, 403),
        ({"Origin": "http://127.0.0.1:5006@evil.example"}, 403),
        ({"Origin": "http://127.0.0.1.:5006"}, 403),
        ({"Origin": "http://127.0.0.1:5006\\evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:5006, http://evil.example"}, 403),
        ({"Origin": "127.0.0.1:5006"}, 403),
        ({"Origin": "//127.0.0.1:5006"}, 403),
        ({"Origin": "https://"}, 403),
        ({"Origin": "http://"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}, 403),
        (LINK, 403),
        ({**LINK, "Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "cors"}, 0),
    ],
)
def test_websockets_refuse_pages_of_other_sites(headers: dict[str, str], expected: int) -> None:
    assert status(TRUSTING, "/ws", **headers) == expected


def test_an_https_server_refuses_origins_of_plain_http() -> None:
    secure = make_policy(requires_token=False, is_tls=True)
    assert status(secure, "/ws", Origin=f"https://{HOST}") == 0
    assert status(secure, "/ws", Origin=f"http://{HOST}") == 403


def test_https_proxies_are_accepted_for_configured_names() -> None:
    named = make_policy(requires_token=False, names=("tiles.example.org",))
    for scheme in ("http", "https"):
        assert status(named, "/ws", Host="tiles.example.org", Origin=f"{scheme}://tiles.example.org") == 0
    assert status(named, "/ws", Host="tiles.example.org:8443", Origin="https://tiles.example.org:8443") == 0
    assert status(named, "/ws", Host=HOST, Origin="https://tiles.example.org") == 0, "a proxy that keeps its own Host"
    assert status(named, "/ws", Host=HOST, Origin=f"https://{HOST}") == 403
    assert status(named, "/ws", Host="tiles.example.org", Origin="https://tiles.example.org:8443") == 403


@pytest.mark.parametrize(
    "target",
    ["/file/mine.py", "/example/box_blur", "/draft/0123456789ab", "/model/net", "/kernel/net.both",
     "/api", "/api/sessions", "/static/js/bokeh.min.js", "/login",
     "/healthz", "/components/payload/x/__css__/y", "/metadata", "/anything"],
)  # fmt: skip
def test_navigation_from_other_sites_reaches_only_the_start_page(target: str) -> None:
    for policy in (TRUSTING, HERE):
        for site in ("cross-site", "same-site"):
            assert status(policy, target, **{**LINK, "Sec_Fetch_Site": site}) == 403, target
    assert decided(TRUSTING, "/?place=file&name=mine.py", **LINK) == PassOn("/"), "what to open is in the path only"
    assert status(TRUSTING, "/", "POST", **LINK) == 403


def test_links_of_other_sites_get_the_entry() -> None:
    assert is_entry(decided(HERE, "/", **LINK))


@pytest.mark.parametrize(
    "target", ["/", "/file/mine.py", "/model/net", "/?tokens=" + TOKEN, "/?token=wrong", "/?ticket=x", "/?entry=x"]
)
@pytest.mark.parametrize("policy", [HERE, OPEN])
def test_pages_without_a_credential_are_the_same_entry(policy: AccessPolicy, target: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": f"tilewright-5006={TOKEN}"},
    ):
        assert is_entry(decided(policy, target, **headers)), target
    assert TOKEN not in entry_page() and policy.keys.new_key() not in entry_page()
    assert status(policy, target, Authorization=f"Bearer {TOKEN}") == 0


@pytest.mark.parametrize(
    "target",
    ["/ws", "/file/mine.py/ws", "/api", "/api/sessions", "/metadata",
     "/autoload.js", "/components/payload/x/__css__/y", "/nothing", "/loginx", "/healthzz"],
)  # fmt: skip
def test_other_addresses_without_a_credential_answer_401(target: str) -> None:
    for policy in (HERE, OPEN):
        key, ticket = policy.keys.new_key(), policy.keys.new_ticket("page")
        assert status(policy, target) == 401, target
        assert status(policy, f"{target}?ticket={ticket}&key={key}&token={TOKEN}") == 401
        assert status(policy, target, Authorization="Bearer wrong") == 401
        assert status(policy, target, Authorization=f"Bearer {key}") == 401
        assert status(policy, target, Authorization=f"Basic {TOKEN}") == 401
        for value in (TOKEN, key, ticket):
            assert status(policy, target, Cookie=f"tilewright-5006={value}; tilewright={value}") == 401
            assert status(policy, target, Sec_WebSocket_Protocol=f"bokeh, {value}") == 401
        assert status(policy, target, Authorization=f"Bearer {TOKEN}") in (0, 403)


def test_a_page_token_opens_only_websockets_of_this_server() -> None:
    def signed(policy: AccessPolicy, seconds: int = 300) -> str:
        session_id = generate_session_id(policy.keys.page_secret, signed=True)
        return "bokeh, " + generate_jwt_token(session_id, policy.keys.page_secret, signed=True, expiration=seconds)

    own = signed(HERE)
    assert (
        status(HERE, "/ws", Sec_WebSocket_Protocol=own) == 0
        and status(HERE, "/file/mine.py/ws", Sec_WebSocket_Protocol=own) == 0
    )
    assert status(HERE, "/api", Sec_WebSocket_Protocol=own) == 401 and is_entry(
        decided(HERE, Sec_WebSocket_Protocol=own)
    )
    unsigned = generate_jwt_token(generate_session_id(signed=False), signed=False)
    wrong = (signed(OPEN), signed(HERE, -1), own + ", x", own[:-1], "bokeh", "bokeh, ", f"x, {own[7:]}", f"bokeh, {unsigned}",
             f"bokeh, {unsigned}.", "bokeh, .", "bokeh, \ud800.x", f"bokeh, {own[7:].partition('.')[0]}")  # fmt: skip
    for protocol in wrong:
        assert status(HERE, "/ws", Sec_WebSocket_Protocol=protocol) == 401, protocol


def test_a_ticket_loads_one_page() -> None:
    query = ticket_of(HERE)
    assert decided(HERE, f"/file/mine.py{query}") == PassOn("/?place=file&name=mine.py")
    assert is_entry(decided(HERE, f"/file/mine.py{query}"))
    assert is_entry(decided(HERE, f"/?ticket={HERE.keys.new_ticket('entry')}")), "an entry is no ticket"
    assert is_entry(decided(HERE, f"/?ticket={HERE.keys.new_key()}"))


def test_published_files_and_healthz_need_no_credential() -> None:
    for target in ("/static/js/bokeh.min.js", "/static/extensions/panel/panel.min.js", "/favicon.ico"):
        assert status(HERE, target) == 0
    assert status(HERE, "/login") == 0 and status(HERE, "/login", "POST", Origin=f"http://{HOST}") == 0
    assert status(HERE, "/login", "POST", Origin="http://127.0.0.1:5007") == 403
    assert status(HERE, "/healthz") == 0 and status(HERE, "/healthz", "POST") == 405


@pytest.mark.parametrize("target", ["/api", "/api/", "/api/sessions", "/api/schema?x=1"])
def test_the_api_refuses_the_token_in_the_address(target: str) -> None:
    assert status(HERE, f"{target}{'&' if '?' in target else '?'}token={TOKEN}") == 401
    assert status(HERE, target, Authorization=f"Bearer {TOKEN}") == 0
    assert status(TRUSTING, target) == 0


@pytest.mark.parametrize(
    "target",
    [
        "//",
        "//[",
        "//evil.example/",
        "http://127.0.0.1:5006/",
        "http://[",
        "*",
        "",
        "?",
        "x",
        "/a\x00b",
        "/\u00e4",
        "/\x7f",
        "\\",
    ],
)
def test_a_target_without_a_path_answers_400(target: str) -> None:
    for policy in (HERE, TRUSTING, BEHIND):
        assert status(policy, target) == 400


@pytest.mark.parametrize(
    "target",
    ["/autoload.js", "/metadata", "/components/os/x/__css__/y", "/static/../app.py", "/static/%2e%2e/x", "/static/js/..", "/static/x.js",
     "/static/js/%2e%2e%2fx", "/file/", "/file", "/file/a/b", "/model", "/model/net/kernels/both.py",
     "/kernel/", "/draft", "/main", "/ws/ws", "/example/x/autoload.js", "/index.html"],
)  # fmt: skip
def test_an_unlisted_address_answers_403(target: str) -> None:
    assert status(TRUSTING, target) == 403


def test_the_path_names_the_opened_notebook() -> None:
    assert decided(TRUSTING, "/file/mine.py?place=draft&name=x") == PassOn("/?place=file&name=mine.py")
    assert decided(TRUSTING, "/kernel/net.v2.both") == PassOn("/?place=kernel&name=net.v2.both")
    assert decided(TRUSTING, "/file/a%20%26b.py") == PassOn("/?place=file&name=a+%26b.py")
    assert decided(TRUSTING, "/example/box_blur/ws?place=file") == PassOn("/ws")
    assert decided(TRUSTING, "/api/sessions?wait=1") == PassOn("/api/sessions?wait=1")
    assert status(TRUSTING, "/file/mine.py", "POST") == 405
    assert status(TRUSTING, "/", "PUT") == 405 and status(TRUSTING, "/ws", "POST") == 405


def test_a_token_in_the_address_becomes_a_one_time_entry() -> None:
    for target, location in (
        (f"/?token={TOKEN}", "/"),
        (f"/file/mine.py?token={TOKEN}", "/file/mine.py"),
        (f"/?token={TOKEN}&next=/example/box_blur", "/example/box_blur"),
        (f"/?token={TOKEN}&next=//evil.example/", "/"),
        (f"/?token={TOKEN}&next=https://evil.example/", "/"),
        (f"/?token={TOKEN}&next=/api", "/"),
    ):
        answer = decided(HERE, target)
        assert isinstance(answer, Answer) and answer.status == 302
        headers = dict(answer.headers)
        path, _, entry = headers.pop("Location").partition("?entry=")
        assert path == location and TOKEN not in str(answer) and not headers, "no cookie"
        assert HERE.why_not_admitted(entry=entry) is None
        refusal = HERE.why_not_admitted(entry=entry)
        assert refusal is not None and refusal.code == "expired"


def test_a_redirect_from_a_local_file_continues_on_this_site() -> None:
    answer = decided(HERE, f"/?token={TOKEN}&next=/file/mine.py", **LINK)
    assert isinstance(answer, Answer) and answer.status == 200 and not answer.headers
    assert 'location.replace("/file/mine.py?entry=' in answer.text


def test_the_prefix_precedes_every_address() -> None:
    shown = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:5006"}
    assert decided(BEHIND, "/tiles/", **shown) == PassOn("/")
    assert decided(BEHIND, "/tiles/file/mine.py/ws", **shown) == PassOn("/ws")
    assert decided(BEHIND, "/tiles/api/schema", **shown) == PassOn("/api/schema")
    assert status(BEHIND, "/", **shown) == 403 and status(BEHIND, "/tilesx/", **shown) == 403
    leading = decided(BEHIND, "/tiles")
    assert isinstance(leading, Answer) and dict(leading.headers)["Location"] == "/tiles/"
    first = decided(BEHIND, f"/tiles/example/box_blur?token={TOKEN}", Host="tiles.example.org")
    assert isinstance(first, Answer) and dict(first.headers)["Location"].startswith("/tiles/example/box_blur?entry=")
    assert is_entry(decided(BEHIND, "/tiles/"), "/tiles") and "<base href='/tiles/'>" in entry_page("/tiles")


def test_a_public_address_without_a_token_starts_no_server() -> None:
    for address in ("0.0.0.0", "::", "192.168.1.5", "example.org", ""):
        with pytest.raises(AccessError) as caught:
            make_policy(address)
        assert caught.value.code == "token-needed"
        with pytest.raises(AccessError) as caught:
            make_policy(address, TOKEN, requires_token=False)
        assert caught.value.code == "token-needed"
    for token in ("short", "with a space in the middle", "tökentökentöken!!"):
        with pytest.raises(AccessError) as caught:
            make_policy("0.0.0.0", token)
        assert caught.value.code == "token-too-short"
    for prefix in ("tiles", "/", "/a//b", "/a/", "/a?b", "/a b", "/..", "/a/../b"):
        with pytest.raises(AccessError) as caught:
            make_policy(prefix=prefix)
        assert caught.value.code == "bad-prefix"
    assert not make_policy("::1").is_open and not make_policy("127.0.0.2").is_open
