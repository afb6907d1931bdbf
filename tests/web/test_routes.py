"""What each route answers, to good requests and to bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentree.cli.app import load_command
from eigentree.treebank.io.conllu import read_conllu
from eigentree.web import worker
from eigentree.web.app import make_app
from eigentree.web.limits import Limits
from eigentree.web.worker import Compiling, Preparing
from tests.demo import HELD_OUT, demo_parser, run_verb
from tests.web.inside import Inside, code_of

SENTENCE = "I saw the boy with the dog ."


def results_of(answer: httpx.Response) -> list[dict]:
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


# Parsing -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_parse_is_that_of_the_parser(inside):
    words = SENTENCE.split()
    [result] = results_of(inside.post("/api/parse", {"sentences": [{"words": words}]}))
    parser = demo_parser()
    parse = parser.parse(words)
    right = parse.to_dict(parser.wrapper, parser.cleaning.root_name)
    assert result == {"index": 0, "offsets": None, **json.loads(json.dumps(right))}


def test_all_that_can_be_asked_of_a_parse(inside):
    asked = {"sentences": [{"words": SENTENCE.split(), "constraints": {"required": [[2, 7]]}}]}
    asked |= {"best": 3, "marginals": 0.5}
    [result] = results_of(inside.post("/api/parse", asked))
    assert "(NP (NP (DT the) (NN boy)) (PP (IN with) (NP (DT the) (NN dog))))" in result["tree"]
    assert result["given_up"] == []
    assert 1 <= len(result["alternatives"]) <= 3
    assert result["alternatives"][0]["tree"] == result["tree"]
    assert {"label": "NP", "start": 2, "end": 7} in [
        {key: each[key] for key in ("label", "start", "end")} for each in result["marginals"]
    ]


def test_text_is_split_with_its_places(inside):
    text = "She slept.\nI saw the boy."
    results = results_of(inside.post("/api/parse", {"text": text}))
    assert [each["words"] for each in results] == [
        ["She", "slept", "."],
        ["I", "saw", "the", "boy", "."],
    ]
    assert [each["index"] for each in results] == [0, 1]
    surfaces = [[text[start:end] for start, end in each["offsets"]] for each in results]
    assert surfaces == [each["words"] for each in results]


def test_constraints_beside_text_are_for_its_sentences(inside):
    asked = {"text": "She slept.\nI saw the boy.", "constraints": [None, {"forbidden": [[1, 4]]}]}
    free, bound = results_of(inside.post("/api/parse", asked))
    assert "given_up" not in free
    assert bound["given_up"] == []
    assert (1, 4) not in {(each["start"], each["end"]) for each in bound["brackets"]}


@pytest.mark.parametrize("soft", [False, True])
def test_constraints_in_conflict_are_reported(inside, soft):
    rows = {"required": [[0, 3], [2, 5]]}
    asked = {"sentences": [{"words": SENTENCE.split(), "constraints": rows}], "soft": soft}
    [result] = results_of(inside.post("/api/parse", asked))
    assert len(result["given_up"]) == 2 - soft
    assert "cross" in result["conflict"]


def test_good_sentences_come_out_beside_bad_ones(inside):
    asked = [
        SENTENCE,
        {"words": ["two words"]},
        {"words": ["a"], "tags": ["DT", "NN"]},
        {"words": ["a"] * 300},
        {"text": "She slept.", "tags": ["PRP", "VBD", "."]},
    ]
    results = results_of(inside.post("/api/parse", {"sentences": asked}))
    assert [each["index"] for each in results] == [0, 1, 2, 3, 4]
    codes = [each.get("error", {}).get("code") for each in results]
    assert codes == [None, "bad_sentence", "bad_sentence", "too_many_tokens", None]
    assert results[4]["tags"] == ["PRP", "VBD", "."]
    assert results[3]["error"] == {
        "code": "too_many_tokens",
        "message": "sentences[3]: at most 200 tokens per sentence are allowed (got 300)",
        "where": "sentences[3]",
        "limit": 200,
        "seen": 300,
    }


def test_where_no_sentence_comes_out_the_first_error_is_the_answer(inside):
    answer = inside.post("/api/parse", {"sentences": [{"words": [""]}, {"words": ["a b"]}]})
    assert answer.status_code == 422
    assert code_of(answer) == "bad_sentence"


@pytest.mark.parametrize("asked", [{"text": ""}, {"text": " \n\n"}, {"sentences": []}])
def test_nothing_gives_no_results(inside, asked):
    assert results_of(inside.post("/api/parse", asked)) == []


@pytest.mark.parametrize("sentence", ["", {"words": []}, {"text": "  "}])
def test_an_empty_sentence_has_no_tree(inside, sentence):
    [result] = results_of(inside.post("/api/parse", {"sentences": [sentence]}))
    assert (result["words"], result["tree"], result["fallback"]) == ([], None, "empty")


def test_weights_of_tags_are_taken(inside):
    tags = ["PRP", "VBD", {"DT": 1}, {"NN": 0.5, "VB": 0.5}, "IN", "DT", "NN", "."]
    asked = {"sentences": [{"words": SENTENCE.split(), "tags": tags}]}
    [result] = results_of(inside.post("/api/parse", asked))
    assert result["tags"][3] == "NN"


def test_ensembles_parse_by_their_name(inside):
    answer = inside.post("/api/parse", {"sentences": [SENTENCE], "model": "many"})
    assert answer.json()["model"] == "many"
    [result] = results_of(answer)
    assert result["words"] == SENTENCE.split()
    assert result["tree"].startswith("(")


def test_dependencies(inside):
    [result] = results_of(inside.post("/api/dependencies", {"text": "the dogs saw a man"}))
    assert len(result["heads"]) == len(result["confidences"]) == 5
    assert 0 in result["heads"]
    [record] = read_conllu(result["conllu"].splitlines(keepends=True))
    assert record.sentence.heads() == result["heads"]
    assert record.sentence.forms() == result["words"] == ["the", "dogs", "saw", "a", "man"]
    assert result["offsets"][2] == [9, 12]


def test_brackets(inside):
    words, tags = ["the", "man", "slept", "."], ["DT", "NN", "VBD", "."]
    asked = {"sentences": [{"words": words, "tags": tags}, {"words": words, "tags": []}]}
    result, bad = results_of(inside.post("/api/brackets", asked))
    assert result["tree"].count("(X") == 2
    assert bad["error"] == {
        "code": "bad_sentence",
        "message": "4 words but 0 tags",
        "where": "sentences[1]",
    }


def test_evaluate_says_what_the_verb_says(inside, tmp_path):
    gold = HELD_OUT.read_text("utf-8")
    parsed = gold.replace("(PP", "(NP")
    file = tmp_path / "parsed.mrg"
    file.write_text(parsed, "utf-8")
    given = inside.post("/api/evaluate", {"gold": gold[:9000], "parsed": "("})
    assert code_of(given) == "bad_trees"
    trees = "".join(gold.splitlines(keepends=True)[:40])
    (tmp_path / "gold.mrg").write_text(trees, "utf-8")
    file.write_text(trees.replace("(PP", "(NP"), "utf-8")
    given = inside.post("/api/evaluate", {"gold": trees, "parsed": trees.replace("(PP", "(NP")})
    code, out, err = run_verb("evaluate", tmp_path / "gold.mrg", file, "--json")
    assert (code, err) == (0, "")
    [mine], [right] = given.json()["systems"], json.loads(out)["systems"]
    assert mine.pop("parsed") == "parsed"
    assert right.pop("parsed") == str(file)
    assert mine == right
    assert mine["all"]["f1"] < 1


# What there is -------------------------------------------------------------------------


def test_models_are_reported(inside):
    told = {each["name"]: each for each in inside.get("/api/models").json()}
    assert {name: each["kind"] for name, each in told.items()} == {
        "demo": "constituents",
        "many": "constituents",
        "clauses": "dependencies",
        "brackets": "brackets",
    }
    assert told["demo"]["method"] == "spectral"
    assert told["demo"]["sizes"]["binary_rules"] > 100
    assert told["many"]["sizes"]["members"] == 2
    assert told["demo"]["card"] is None
    assert told["demo"]["description"]["trees"] == 490
    assert "singular_values" not in told["demo"]["description"]


def test_symbols_can_be_looked_at(inside):
    told = inside.get("/api/models/demo/symbols").json()
    assert {"NP", "VP", "S"} <= {each["label"] for each in told}
    assert inside.get("/api/models/demo/symbols/NP").json()["label"] == "NP"
    assert code_of(inside.get("/api/models/demo/symbols/A%2FB%3F")) == "no_such_symbol"
    assert code_of(inside.get("/api/models/many/symbols")) == "no_symbols"
    assert code_of(inside.get("/api/models/none/symbols")) == "no_such_model"


def test_limits_are_reported(inside):
    told = inside.get("/api/limits").json()
    assert told["workers"] == 1
    rows = {each["name"]: each for each in told["limits"]}
    assert rows.keys() == Limits.model_fields.keys()
    assert rows["body_bytes"]["value"] == 20_000
    assert (rows["body_bytes"]["status"], rows["body_bytes"]["code"]) == (413, "body_too_large")
    codes = [each["code"] for each in rows.values()]
    assert len(set(codes)) == len(codes)


def test_health_reports_workers(inside):
    answer = inside.get("/api/health")
    assert answer.status_code in (200, 503)
    assert answer.json()["workers"]["wanted"] == 1


def test_health_names_the_model_that_is_prepared(inside, monkeypatch):
    pool = inside.service.pool
    monkeypatch.setattr(pool, "_ready", set())
    monkeypatch.setattr(pool, "preparing", Preparing("demo", 1, 4))
    answer = inside.get("/api/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "starting")
    assert answer.json()["preparing"] == {"model": "demo", "number": 1, "total": 4}
    monkeypatch.setattr(pool, "preparing", Compiling(3, 21))
    assert inside.get("/api/health").json()["compiling"] == {"number": 3, "total": 21}


def test_openapi_has_every_route_and_its_body(inside):
    schema = inside.get("/openapi.json").json()
    assert {"/api/parse", "/api/limits", "/api/models/{name}/symbols"} <= schema["paths"].keys()
    references = {
        value
        for value in json.dumps(schema).split('"')
        if value.startswith("#/components/schemas/")
    }
    assert {each.rpartition("/")[2] for each in references} <= schema["components"][
        "schemas"
    ].keys()
    assert "ParseRequest" in schema["components"]["schemas"]


def test_the_page_of_routes_needs_nothing_from_outside(inside):
    page = inside.get("/docs")
    assert page.status_code == 200
    assert "POST /api/parse" in page.text
    assert "//" not in page.text.replace("<!--", "")
    assert "<script" not in page.text
    assert "style=" not in page.text
    assert inside.get("/static/docs.css").status_code == 200


def test_metrics_are_for_prometheus(inside):
    inside.post("/api/parse", {"sentences": [SENTENCE, {"words": ["a b"]}]})
    answer = inside.get("/api/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    values = dict(
        line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#")
    )
    assert float(values['eigentree_sentences_total{task="parse",outcome="done"}']) >= 1
    assert float(values['eigentree_sentences_total{task="parse",outcome="bad_sentence"}']) >= 1
    assert float(values['eigentree_errors_total{code="bad_sentence"}']) >= 1
    bins = [float(v) for k, v in values.items() if k.startswith("eigentree_request_seconds_bucket")]
    assert bins == sorted(bins)
    assert bins[-1] == float(values["eigentree_request_seconds_count"]) > 0
    assert values["eigentree_requests_waiting"] == "0"


# What is refused -----------------------------------------------------------------------

GOOD = {"sentences": [SENTENCE]}
JSON = "application/json"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/static/nothing.js", 404, "not_found"),
        ("GET", "/static/../app.py", 404, "not_found"),
        ("GET", "/api/parse", 405, "method_not_allowed"),
        ("PUT", "/api/parse", 405, "method_not_allowed"),
        ("OPTIONS", "/api/parse", 405, "method_not_allowed"),
        ("DELETE", "/", 405, "method_not_allowed"),
        ("POST", "/api/parse", 415, "not_json"),
    ],
)
def test_what_is_not_there(inside, method, path, status, code):
    answer = inside.ask(method, path)
    assert (answer.status_code, code_of(answer)) == (status, code)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=UTF-8", 200),
        ("application/json; charset=latin-1", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ],
)
def test_bodies_must_be_told_to_be_json(inside, kind, status):
    content = json.dumps(GOOD).encode()
    answer = inside.ask("POST", "/api/parse", content=content, headers={"Content-Type": kind})
    assert answer.status_code == status


def test_packed_bodies_are_refused(inside):
    headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}
    answer = inside.ask("POST", "/api/parse", content=b"x", headers=headers)
    assert (answer.status_code, code_of(answer)) == (415, "not_json")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "expecting value"),
        (b"{", "line 1, column 2"),
        (b'{"text": "a",\n}', "line 2, column 1"),
        (b'\xef\xbb\xbf{"text": "a"}', "BOM"),
        (b'{"text": "\xff"}', "byte 11 is not UTF-8"),
        ('{"text": "a"}'.encode("utf-16"), "is not UTF-8"),
        (b'{"text": "a", "marginals": NaN}', "NaN"),
        (b'{"text": "a", "marginals": -Infinity}', "-Infinity"),
        (b'{"text": "a", "text": "b"}', "duplicate key 'text'"),
        (b'{"sentences": [{"words": ["a"], "words": []}]}', "duplicate key 'words'"),
        (b'{"text": "a", "best": 1' + b"0" * 5000 + b"}", "digits"),
        (b"[" * 9000 + b"]" * 9000, "nested too deeply"),
        (b'{"a":' * 3000 + b"1" + b"}" * 3000, "nested too deeply"),
        (b'{"text": "a\nb"}', "control character"),
    ],
)
def test_what_is_no_json(inside, body, told):
    answer = inside.raw("/api/parse", body)
    assert (answer.status_code, code_of(answer)) == (400, "malformed_json")
    assert told in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("[]", None),
        ("null", None),
        ("{}", None),
        ('{"text": "a", "sentences": []}', None),
        ('{"text": 1}', "text"),
        ('{"text": "a\\ud800b"}', "text"),
        ('{"sentences": "a"}', "sentences"),
        ('{"sentences": [1]}', "sentences[0]"),
        ('{"sentences": [null]}', "sentences[0]"),
        ('{"sentences": [["a", "b"]]}', "sentences[0]"),
        ('{"sentences": ["a", {"words": "b"}]}', "sentences[1].words"),
        ('{"sentences": ["a", {"words": ["b", 3]}]}', "sentences[1].words[1]"),
        ('{"sentences": [{"words": ["\\udc00"]}]}', "sentences[0].words[0]"),
        ('{"sentences": [{"words": ["a"], "text": "a"}]}', "sentences[0]"),
        ('{"sentences": [{"tags": ["a"]}]}', "sentences[0]"),
        ('{"sentences": [{"words": ["a"], "other": 1}]}', "sentences[0].other"),
        ('{"sentences": [{"words": ["a"], "\\ud800": 1}]}', "sentences[0]"),
        ('{"text": "a", "bset": 3}', "bset"),
        ('{"text": "a", "best": 0}', "best"),
        ('{"text": "a", "best": 2.0}', "best"),
        ('{"text": "a", "best": 1' + "0" * 4000 + "}", "best"),
        ('{"text": ' + "[" * 900 + "]" * 900 + "}", "text"),
        ('{"text": "a", "best": "2"}', "best"),
        ('{"text": "a", "best": true}', "best"),
        ('{"text": "a", "marginals": -1}', "marginals"),
        ('{"text": "a", "marginals": 1e999}', "marginals"),
        ('{"text": "a", "soft": 1}', "soft"),
        ('{"text": "a", "model": 1}', "model"),
        ('{"text": "a", "constraints": [null, null]}', "constraints"),
        ('{"text": "a", "constraints": {"required": []}}', "constraints"),
        ('{"sentences": ["a"], "constraints": [null]}', "constraints"),
        ('{"sentences": [{"words": ["a"], "constraints": []}]}', "sentences[0].constraints"),
    ],
)
def test_what_is_no_request(inside, body, where):
    answer = inside.raw("/api/parse", body.encode())
    assert (answer.status_code, code_of(answer)) == (422, "wrong_request")
    assert answer.json()["error"].get("where") == where


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[]", "the body should be an object (got a list)"),
        ('{"text": "a", "soft": 2}', "soft should be true or false (got 2)"),
        ('{"text": "a", "best": 1.5}', "best should be an integer (got 1.5)"),
        ('{"sentences": [5]}', "sentences[0] should be a string or an object (got 5)"),
        (
            '{"sentences": [{"words": ["a"], "tags": [5]}]}',
            "sentences[0].tags[0] should be a string or an object (got 5)",
        ),
        (
            '{"sentences": [{"words": ["a"], "tags": [{"N": "x"}]}]}',
            'sentences[0].tags[0].N should be a number (got "x")',
        ),
        (
            '{"text": "a", "constraints": [{"required": [[0.5]]}]}',
            "constraints[0].required[0][0] should be an integer or a string or null (got 0.5)",
        ),
    ],
)
def test_messages_name_types_of_json(inside, body, message):
    assert inside.raw("/api/parse", body.encode()).json()["error"]["message"] == message


@pytest.mark.parametrize(
    ("path", "asked", "where"),
    [
        ("dependencies", {"text": "a", "best": 2}, "best"),
        ("dependencies", {"sentences": [{"words": ["a"], "tags": [{"N": 1}]}]}, "tags[0]"),
        ("dependencies", {"sentences": [{"words": ["a"], "constraints": {}}]}, "constraints"),
        ("brackets", {"text": "a"}, "sentences"),
        ("brackets", {"sentences": ["a"]}, "sentences[0]"),
        ("brackets", {"sentences": [{"words": ["a"]}]}, "sentences[0].tags"),
        ("evaluate", {"gold": "(A a)"}, "parsed"),
        ("evaluate", {"gold": "\ud800", "parsed": ""}, "gold"),
    ],
)
def test_what_other_routes_do_not_take(inside, path, asked, where):
    answer = inside.raw(f"/api/{path}", json.dumps(asked).encode())
    assert (answer.status_code, code_of(answer)) == (422, "wrong_request")
    assert answer.json()["error"]["where"].endswith(where)


@pytest.mark.parametrize(
    "rows", [{"wanted": []}, {"required": [[0]]}, {"required": [[0, 99]]}, {"tags": [[0, "a b"]]}]
)
def test_constraints_without_meaning_are_a_sentence_s_error(inside, rows):
    asked = {"sentences": [{"words": ["a"], "constraints": rows}]}
    answer = inside.post("/api/parse", asked)
    assert (answer.status_code, code_of(answer)) == (422, "bad_sentence")


def test_a_model_of_another_kind_is_none(inside):
    answer = inside.post("/api/parse", {**GOOD, "model": "clauses"})
    assert (answer.status_code, code_of(answer)) == (404, "no_such_model")
    assert "demo, many" in answer.json()["error"]["message"]


def long_sentence(**given: object) -> dict:
    return {"sentences": [{"words": ["a"] * 20, **given}]}


@pytest.mark.parametrize(
    ("limit", "asked"),
    [
        ("body_bytes", {"text": "a" * 30_000}),
        ("body_bytes", {"text": "a" * 300_000}),
        ("characters", {"text": "a " * 2001}),
        ("characters", {"sentences": [{"words": ["a" * 4001]}]}),
        ("run_characters", {"text": "a " + "ก" * 901}),
        ("run_characters", {"sentences": ["a", {"words": ["a" * 901]}]}),
        ("sentences", {"sentences": ["a"] * 6}),
        ("sentences", {"text": "She slept.\n" * 6}),
        ("tokens", {"sentences": [{"words": ["a"] * 201}]}),
        ("tokens", {"text": "a " * 201}),
        ("best", {**GOOD, "best": 51}),
        ("constraints", long_sentence(constraints={"forbidden": [[0, 1]] * 201})),
    ],
)
def test_limits_have_their_own_answers(inside, limit, asked):
    answer = inside.post("/api/parse", asked)
    row = next(each for each in inside.service.limits.table() if each["name"] == limit)
    assert (answer.status_code, code_of(answer)) == (row["status"], row["code"])
    error = answer.json()["error"]
    assert error["limit"] == row["value"] < error["seen"]


def test_too_many_requests_are_sent_away(inside):
    inside.service.n_waiting += inside.service.limits.waiting
    try:
        answer = inside.post("/api/parse", GOOD)
    finally:
        inside.service.n_waiting -= inside.service.limits.waiting
    assert (answer.status_code, code_of(answer)) == (503, "too_many_waiting")
    assert int(answer.headers["retry-after"]) > 0
    assert inside.post("/api/parse", GOOD).status_code == 200


def test_a_request_out_of_time_has_nothing_begun(inside, monkeypatch):
    limits = Limits(request_seconds=1e-9)
    monkeypatch.setattr(inside.service, "limits", limits)
    answer = inside.post("/api/parse", GOOD)
    assert (answer.status_code, code_of(answer)) == (504, "request_out_of_time")
    assert 'reason="time"' not in inside.get("/api/metrics").text


def test_bodies_are_counted_while_they_come(inside):
    n_taken = 0

    async def pieces():
        nonlocal n_taken
        for _ in range(1000):
            n_taken += 1
            yield b" " * 1000

    answer = inside.raw("/api/parse", pieces())
    assert (answer.status_code, code_of(answer)) == (413, "body_too_large")
    assert answer.headers["connection"] == "close"
    # Read on, since few clients look for an answer before they have sent all, but not for ever.
    assert n_taken < 200


def test_a_service_answers_to_its_names_alone(inside):
    for host in ("elsewhere.example", "test.elsewhere.example", ""):
        answer = inside.get("/api/health", headers={"Host": host})
        assert (answer.status_code, code_of(answer)) == (403, "wrong_host")
    assert inside.get("/api/limits", headers={"Host": "TEST:8600"}).status_code == 200
    answer = inside.get("/api/limits", headers={"Host": "a.example:80"})
    message = "host 'a.example' is not allowed; add it with --allow-host"
    assert answer.json()["error"]["message"] == message
    app = make_app(inside.service, ["[::1]"])
    local = Inside(inside.service, app, inside._runner)
    assert local.get("/api/limits", headers={"Host": "[::1]:8600"}).status_code == 200
    assert local.get("/api/limits", headers={"Host": "test"}).status_code == 403


@pytest.mark.parametrize("path", ["/", "/docs", "/api/limits", "/nothing", "/static/docs.css"])
def test_every_answer_has_headers_for_safety(inside, path):
    headers = inside.get(path, headers={"Origin": "https://elsewhere.example"}).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == ("no-store" if path.startswith("/api/") else "no-cache")
    assert not any(name.startswith("access-control") for name in headers)


def test_errors_of_the_libraries_below_have_the_shape(inside):
    answer = inside.get("/static/docs.css", headers={"Range": "bytes=x"})
    assert (answer.status_code, code_of(answer)) == (400, "bad_request")
    answer = inside.get("/static/docs.css", headers={"Range": "bytes=900000-"})
    assert answer.status_code == 416
    code_of(answer)


def test_head_is_get_without_a_body(inside):
    assert inside.ask("HEAD", "/api/limits").status_code == 200
    assert inside.ask("HEAD", "/nothing").status_code == 404


def test_an_error_of_the_program_shows_nothing_of_it(inside, monkeypatch, caplog):
    def fail(_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Limits, "table", fail)
    answer = inside.get("/api/limits")
    assert (answer.status_code, code_of(answer)) == (500, "internal_error")
    assert "secret" not in answer.text
    assert "ZeroDivisionError" in caplog.text


def test_an_error_within_a_worker_is_a_sentence_s():
    def fail(_: object) -> None:
        raise ZeroDivisionError("in the chart")

    monkeyed = worker.Task("parse", "demo", {})
    original = worker._FUNCTIONS["parse"]
    worker._FUNCTIONS["parse"] = fail
    try:
        answer = worker._answer({}, monkeyed)
    finally:
        worker._FUNCTIONS["parse"] = original
    assert answer.failed == "ZeroDivisionError: in the chart"


# Anything ------------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANY = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
KEYS = ["text", "sentences", "words", "tags", "constraints", "best", "marginals", "soft", "model"]
SENTENCES = st.fixed_dictionaries(
    {},
    optional={
        "words": st.lists(st.text(max_size=4), max_size=4) | ANY,
        "text": st.text(max_size=9) | ANY,
        "tags": st.lists(st.sampled_from(["NN", "", "("]), max_size=4) | ANY,
        "constraints": st.dictionaries(
            st.sampled_from(["required", "forbidden", "tags", "x"]), ANY, max_size=2
        )
        | ANY,
    },
)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "sentences": st.lists(st.text(max_size=9) | SENTENCES, max_size=3) | ANY,
        "best": st.integers(-1, 3) | ANY,
        "marginals": st.floats(0, 1) | ANY,
        "soft": st.booleans() | ANY,
        "model": st.sampled_from(["demo", "many", "clauses"]) | ANY,
        "text": st.text(max_size=9) | ANY,
    },
)


@settings(max_examples=150)
@given(
    path=st.sampled_from(["parse", "dependencies", "brackets", "evaluate"]),
    value=REQUESTS | st.dictionaries(st.sampled_from(KEYS), ANY, max_size=3) | ANY,
)
def test_anything_has_an_answer(inside: Inside, path, value):
    answer = inside.raw(f"/api/{path}", json.dumps(value).encode())
    if answer.status_code == 200:
        json.loads(answer.content.decode("utf-8"))
    else:
        assert answer.status_code in (400, 404, 422), answer.text
        code_of(answer)


# What the docs say ----------------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "serve.md"


def test_the_docs_have_the_table_of_limits():
    rows = [
        f"| `--max-{row['name'].replace('_', '-')}` | {row['value']:,.0f} | {row['what']} "
        f"| {row['status']} `{row['code']}` |"
        for row in Limits().table()
    ]
    lines = PAGE.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("| `--max-")] == rows


def test_options_have_the_words_of_the_limits():
    help_of = {option.opts[0]: option.help for option in load_command("serve").params}
    for row in Limits().table():
        own = help_of[f"--max-{row['name'].replace('_', '-')}"]
        assert own.lower().rstrip(".") == row["what"]
