"""Commands come from distributions; a broken one is one line and stops no other."""

HELLO = """
import click
@click.command()
def command():
    "Say hello."
    click.echo("hello")
"""
BROKEN = "raise ImportError('half installed')"
WRONG = "command = 5"


def bring(terminus, **sources):
    terminus.distribution("extras", sources, group="terminus_core.commands", target=":command")


def test_a_command_of_a_distribution(terminus):
    bring(terminus, hello=HELLO, broken=BROKEN, wrong=WRONG)
    listed = terminus("--help")
    assert listed.returncode == 0
    assert "\n  hello       Say hello.\n" in listed.stdout
    assert "\n  demo " in listed.stdout
    assert listed.stderr.splitlines() == [
        "terminus: command 'broken' of extras 1.2.3 cannot be used: ImportError: half installed",
        "terminus: command 'wrong' of extras 1.2.3: expected a click.Command, got int",
    ]
    assert (terminus("hello").stdout, terminus("hello").stderr) == ("hello\n", "")
    done = terminus("broken", "--json")
    assert (done.returncode, done.stderr.splitlines()) == (2, listed.stderr.splitlines()[:1])


def test_names_of_the_box_stay_its_own_and_two_others_are_an_error(terminus):
    bring(terminus, demo=BROKEN, run=BROKEN, hello=HELLO)
    terminus.distribution("more", {"hello": HELLO}, group="terminus_core.commands", target=":command")
    for name in ("demo", "run"):
        assert terminus(name, "--help").returncode == 0
    done = terminus("hello")
    assert done.returncode == 2
    assert done.stderr == (
        "terminus: two distributions bring the command 'hello': extras 1.2.3 and more 1.2.3; uninstall one\n"
    )


def test_a_folder_that_python_is_started_in_brings_nothing(terminus):
    """``python -m`` puts the working folder on the path, and with it whatever calls itself a distribution there."""
    bring(terminus, hello=HELLO)
    del terminus.env["PYTHONPATH"]
    site = terminus.folder / "site"
    for path in site.iterdir():
        path.rename(terminus.folder / path.name)
    assert "hello" not in terminus("--help").stdout
