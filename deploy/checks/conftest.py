"""What `make packaged` stands on. These tests need programs of Debian's packages, so they are a target of their own."""

import shutil

import pytest

from yards import running


@pytest.fixture(scope="session")
def program():
    """The path of a program; without it the test fails and says how to get it."""

    def find(name, package):
        path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
        assert path, f"{name} is not installed: apt-get install {package}"
        return path

    return find


@pytest.fixture(scope="module")
def up():
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()
