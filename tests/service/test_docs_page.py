"""/docs: complete, self-contained, and safe against whatever a description may contain."""

import html
import re
import shlex
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest

from tickyard.catalog import CATALOG
from tickyard.doors.describe.docs.page import render_docs
from tickyard.doors.describe.frame import frame_paths
from tickyard.doors.describe.openapi import describe

BASE = "http://127.0.0.1:8402"
VOID = {"meta", "br", "hr", "link", "img", "input"}


@pytest.fixture(scope="module")
def document():
    return describe(CATALOG, base_url=BASE, description="Stocks & <tokens>.")


@pytest.fixture(scope="module")
def page(document):
    return render_docs(document).decode()


class Outline(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.tags = [], [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [value for key, value in attrs if key in ("href", "src", "action")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def outline(page):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    return outline


@pytest.mark.slow
def test_every_operation_is_on_the_page_once(page, outline):
    assert len(set(outline.ids)) == len(outline.ids)
    for row in CATALOG:
        assert row.name in outline.ids
        assert f"<code>{html.escape(row.path)}</code>" in page


def test_every_link_leads_somewhere_on_this_service(outline):
    for link in outline.links:
        assert link in ("/openapi.json", "/llms.txt", "/app") or link.removeprefix("#") in outline.ids


def test_the_page_needs_nobody_else_and_no_script(document, page, outline):
    assert not set(outline.tags) & {"script", "link", "img", "iframe", "object", "embed", "form"}
    alive = render_docs(document, script="/app/files/docs-ABCDEFGH.js").decode()
    assert re.findall(r"<script[^>]*>", alive) == ['<script type="module" src="/app/files/docs-ABCDEFGH.js">']
    assert "url(" not in page
    assert "@import" not in page
    hosts = {urlsplit(address).netloc for address in re.findall(r"https?://[^\s\"'<)]+", html.unescape(page))}
    assert hosts <= {"127.0.0.1:8402", "cdn.example", "hooks.example.com"}


def test_texts_are_escaped(page, document):
    assert "Stocks &amp; &lt;tokens&gt;." in page
    hostile = {**document, "info": {**document["info"], "title": "<script>alert(1)</script>"}}
    assert b"<script>" not in render_docs(hostile)


def test_a_command_carries_what_the_call_cannot_do_without(page):
    for name in ("get_alert", "cancel_alert"):
        article = page.partition(f'<article id="{name}">')[2].partition("</article>")[0]
        assert "x-svc-alert-secret: YOUR_SECRET" in html.unescape(article)


def test_what_has_no_end_is_not_offered_to_be_tried(page):
    article = page.partition('<article id="follow_stream"')[2].partition("</article>")[0]
    assert "text/event-stream" in article
    assert "data-target" not in article
    assert "null" not in article


# Whatever a path may name in a service that is an hour old as well.
ALWAYS_THERE = {"symbol", "address"}


def test_an_example_that_a_new_service_cannot_know_says_what_to_put_in_its_place(page, document):
    told = []
    for path, methods in document["paths"].items():
        for op in methods.values():
            article = page.partition(f'<article id="{op["operationId"]}"')[2].partition("</article>")[0]
            if "data-target" in article and set(re.findall(r"{(\w+)}", path)) - ALWAYS_THERE:
                told.append(op["operationId"])
                assert "in the place of the example" in article, path
    assert sorted(told) == ["get_epoch_books", "get_epoch_file", "get_payment"]


def test_every_command_can_be_pasted(page):
    commands = re.findall(r"<pre><code>(curl .*?)</code></pre>", page, re.DOTALL)
    # A paid twin has its own, and so have the doors that are no operations.
    assert len(commands) == len(CATALOG) + sum(row.price is not None for row in CATALOG) + len(frame_paths())
    for command in commands:
        words = shlex.split(html.unescape(command).replace("\\\n", " "))
        urls = [word for word in words if word.startswith(BASE)]
        assert len(urls) == 1
        assert "{" not in urls[0]
