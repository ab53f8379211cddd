"""A database that cannot hold every name is refused in words, before anything is written to it."""

import psycopg
import pytest

from tickyard import cli


@pytest.fixture(params=["SQL_ASCII", "LATIN1"])
def encoded(request, postgres_server):
    name = f"encoded_{request.param.lower()}"
    with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{request.param}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        yield request.param, postgres_server.url(name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.database
def test_a_database_that_is_not_in_utf8_is_refused_with_the_mend(encoded, monkeypatch, tmp_path, capsys):
    encoding, url = encoded
    monkeypatch.setenv("TICKYARD_DATABASE_URL", url)
    monkeypatch.setenv("TICKYARD_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["tickyard", "migrate"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code not in (0, None)
    said = capsys.readouterr().err
    assert f"encoded in {encoding}" in said
    assert "ENCODING 'UTF8'" in said
    assert "Traceback" not in said
