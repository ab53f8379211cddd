"""The doctor says why somebody does not answer, not only that."""

import asyncio
import socket

from tickyard.config.settings import Settings
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.processes import doctor
from tickyard.processes.doctor.finding import Examination, Finding, find_out
from tickyard.processes.doctor.reach import cannot_reach
from yards.webhook_receiver import Authority


async def _asked(tls, scheme):
    def answer(_reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    async with server:
        return await cannot_reach(f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/a-key")


def _closed_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def test_who_listens_can_be_reached():
    assert asyncio.run(_asked(None, "http")) is None


def test_a_closed_door_is_told():
    assert asyncio.run(cannot_reach(f"http://127.0.0.1:{_closed_port()}")) == "nobody listens there"


def test_a_certificate_that_is_refused_is_told():
    said = asyncio.run(_asked(Authority().serving("127.0.0.1"), "https"))
    assert said.startswith("its certificate is refused (")


def test_plain_http_behind_an_https_address_is_told():
    assert "TLS" in asyncio.run(_asked(None, "https"))


def test_a_finding_of_silence_says_why_and_never_the_address():
    async def ask():
        raise UpstreamDown("the chain node did not answer")

    question = Examination("node", ask, "look at it", f"http://127.0.0.1:{_closed_port()}/a-key")
    finding = asyncio.run(find_out(question, WallClock()))
    assert finding.found == "the chain node did not answer: nobody listens there"


def test_what_an_address_carries_beside_its_place_is_not_shown(capsys, monkeypatch):
    async def nothing(*_):
        return Finding("all", True, "well", "", 0)

    monkeypatch.setattr(doctor, "find_out", nothing)
    asyncio.run(
        doctor.examine(
            Settings(
                issuer_url="http://me:sesame@issuer.test:81/v1",
                facilitator_4663=("https://one.test/x?key=sesame", "https://sesame@two.test"),
                traces_url="https://traces.test/?sesame",
                security_contact="mailto:me@tickyard.test",
            )
        )
    )
    shown = capsys.readouterr().out
    assert "sesame" not in shown
    assert "http://(masked)@issuer.test:81/v1" in shown
    assert "https://one.test/x?(masked), https://(masked)@two.test" in shown
    assert "mailto:me@tickyard.test" in shown
