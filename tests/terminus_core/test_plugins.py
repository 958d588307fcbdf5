"""Finding, refusing and blaming plugins."""

import shutil
import sys
import types

import pytest
from pydantic import BaseModel, ConfigDict, field_validator

from terminus_core import Agent, ConfigError, Gate, PluginError, PluginManager, Settings, hookimpl

MINIMAL = """
from terminus_core import hookimpl, CompletionPolicy, Completion
class Mine(CompletionPolicy):
    name = "{name}"
    async def decide(self, run, turn):
        return Completion(turn.observation, done=True)
@hookimpl
def terminus_register_completion_policies():
    return [Mine]
"""


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Install a distribution with entry points into a folder on the path: `distribution(name, {entry: source})`."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)

    def install(name, modules, version="1.2.3"):
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = ["[terminus_core]"]
        for entry, source in modules.items():
            module = f"{name.replace('-', '_')}_{entry}"
            (site / f"{module}.py").write_text(source)
            lines.append(f"{entry} = {module}")
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")

    yield install
    for name in set(sys.modules) - before:
        del sys.modules[name]


def info(manager, name):
    (found,) = [each for each in manager.infos if each.name == name]
    return found


def test_the_defaults_are_found_through_entry_points():
    manager = PluginManager()
    assert "two_step" in manager.parts("completion")
    assert info(manager, "two_step").distribution == "terminus-agent"
    assert info(manager, "two_step").parts == {"completion": ["two_step"]}


def test_what_is_installed_while_the_program_runs_is_found(distribution, tmp_path):
    assert "late" not in PluginManager().parts("completion")
    distribution("late-dist", {"late": MINIMAL.format(name="late")})
    assert info(PluginManager(), "late").distribution == "late-dist"
    shutil.rmtree(tmp_path / "site" / "late_dist-1.2.3.dist-info")
    assert "late" not in PluginManager().parts("completion")


@pytest.mark.parametrize(
    "broken",
    ["raise ImportError('no luck')", "import module_that_is_not_there", "raise SystemExit('no luck')"],
    ids=["pl-01", "pl-02", "exit"],
)
def test_a_broken_plugin_stops_nobody(distribution, broken, caplog):
    distribution("three-dist", {"good_a": MINIMAL.format(name="a"), "bad": broken, "good_b": MINIMAL.format(name="b")})
    manager = PluginManager()
    assert {"a", "b"} <= set(manager.parts("completion"))
    assert info(manager, "bad").status == "failed"
    (line,) = [record.message for record in caplog.records if "'bad'" in record.message]
    assert "three-dist 1.2.3" in line
    assert ("no luck" in line) or ("module_that_is_not_there" in line)


def test_strict_makes_a_broken_plugin_an_error(distribution):
    distribution("one-dist", {"bad": "1 / 0"})
    with pytest.raises(PluginError, match=r"plugin 'bad' \(one-dist 1\.2\.3\) cannot be used: ZeroDivisionError"):
        PluginManager(strict=True)


def test_a_broken_plugin_is_named_when_its_part_is_asked_for(distribution):
    distribution("one-dist", {"bad": "1 / 0"})
    with pytest.raises(ConfigError, match=r"unknown completion 'mine'.*'bad'.*ZeroDivisionError"):
        PluginManager().find("completion", "mine")


def test_blocking_comes_before_the_import(distribution):
    distribution("one-dist", {"bad": "raise SystemExit('imported')"})
    manager = PluginManager(["no:bad"])
    assert info(manager, "bad").status == "blocked"


def test_blocking_what_is_not_there_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'two_step'"):
        PluginManager(["no:two_stepp"])


def test_a_file_is_a_plugin(tmp_path):
    file = tmp_path / "my_first.py"
    file.write_text(MINIMAL.format(name="first"))
    manager = PluginManager([str(file)])
    assert "first" in manager.parts("completion")
    assert info(manager, "my_first").status == "loaded"


def test_a_path_and_a_lone_name_are_plugins_too(tmp_path):
    file = tmp_path / "my_first.py"
    file.write_text(MINIMAL.format(name="first"))
    for plugins in ([file], file, str(file)):
        assert "first" in Agent(plugins=plugins).plugins.parts("completion")
    agent = Agent(plugins="no:dry_run", gates="deny")
    assert info(agent.plugins, "dry_run").status == "blocked"
    assert agent.settings.agent.gates == ["deny"]


@pytest.mark.parametrize("nothing", [None, object(), 5, PluginManager])
def test_what_implements_no_hook_is_no_plugin(nothing):
    with pytest.raises(PluginError, match="it implements no hook"):
        PluginManager([nothing])


@pytest.mark.parametrize("named", ["/nowhere/plugin.py", "module_that_is_not_there"])
def test_a_plugin_asked_for_by_name_must_load(named):
    with pytest.raises(PluginError, match="cannot be used"):
        PluginManager([named])


def test_one_name_twice_is_an_error_that_names_both_pl_06(distribution):
    distribution("first-dist", {"one": MINIMAL.format(name="same")})
    distribution("second-dist", {"two": MINIMAL.format(name="same")})
    Agent()
    with pytest.raises(PluginError, match=r"named 'same'.*first-dist 1\.2\.3.*second-dist 1\.2\.3.*-p no:two"):
        Agent(completion="same")
    agent = Agent(completion="two:same", settings={"completion": {"two:same": {}}})
    assert agent.plugins.find("completion", "two:same") is not agent.plugins.find("completion", "one:same")
    assert {"one:same", "two:same"} <= agent.plugins.parts("completion").keys()


def test_a_built_in_keeps_its_name(distribution):
    distribution("clash-dist", {"clash": MINIMAL.format(name="two_step")})
    manager = PluginManager()
    assert manager.find("completion", "two_step").__module__ == "terminus_plugins.completion.two_step"
    assert manager.find("completion", "clash:two_step").__module__ == "clash_dist_clash"


def test_the_name_and_the_module_of_another_plugin_are_told_with_it(distribution):
    distribution("first-dist", {"one": MINIMAL.format(name="first")})
    distribution("second-dist", {"one": MINIMAL.format(name="second")})
    manager = PluginManager()
    assert [each.status for each in manager.infos if each.name == "one"] == ["loaded", "loaded"]
    assert {"first", "second"} <= manager.parts("completion").keys()
    module = types.ModuleType("the_same")
    with pytest.raises(PluginError, match="its module is that of plugin 'the_same'"):
        PluginManager([module, module])


async def never(self, run, reply):
    return reply


def plugin(**functions):
    module = types.ModuleType("a_plugin")
    for name, function in functions.items():
        setattr(module, name, function)
    return module


@hookimpl
def misspelt():
    return []


@hookimpl
async def terminus_run_started(run):
    pass


@hookimpl(hookwrapper=True, specname="terminus_step_recorded")
def old_wrapper(run, step):
    yield


@hookimpl(specname="terminus_step_recorded")
def takes_all(run, **kw):
    pass


@hookimpl
def terminus_command_sent(run, command, shell):
    pass


@hookimpl
def terminus_run_finished(run, *, resultt=None):
    pass


@hookimpl(specname="terminus_run_finished")
async def hidden(run):
    pass


def terminus_record_marker(run, marker):
    pass


@pytest.mark.parametrize(
    ("functions", "line"),
    [
        ({"terminus_register_parser": misspelt}, "unknown hook 'terminus_register_parser'; did you mean"),
        ({"terminus_run_started": terminus_run_started}, "expected a plain `def`, got `async def`"),
        ({"terminus_step_recorded": old_wrapper}, "old-style hook wrapper; use @hookimpl(wrapper=True)"),
        ({"terminus_step_recorded": takes_all}, "`**kw` receives nothing; name the arguments, of run, step, segment"),
        ({"terminus_command_sent": terminus_command_sent}, "terminus_command_sent takes no argument 'shell'"),
        ({"terminus_run_finished": terminus_run_finished}, "terminus_run_finished takes no argument 'resultt'"),
        ({"x": hidden}, "terminus_run_finished: hooks are not awaited"),
        ({"terminus_record_marker": terminus_record_marker}, "has no @hookimpl"),
        ({"terminus_register_gates": hookimpl(lambda: 5)}, "expected a list of classes, got int"),
        ({"terminus_register_gates": hookimpl(lambda: [5])}, "expected a class, got 5"),
        ({"terminus_register_gates": hookimpl(lambda: 1 / 0)}, "ZeroDivisionError"),
        ({"terminus_register_gates": hookimpl(lambda: sys.exit(3))}, "SystemExit: 3"),
        ({"terminus_register_gates": hookimpl(lambda: (sys.exit(3) for _ in "x"))}, "SystemExit: 3"),
    ],
    ids=[
        "misspelt",
        "async",
        "wrapper",
        "takes-all",
        "pl-03",
        "default",
        "async-specname",
        "no-decorator",
        "no-list",
        "no-class",
        "raises",
        "exits",
        "exits-later",
    ],
)
def test_hook_rules_are_kept_at_registration(functions, line):
    for function in functions.values():
        if getattr(function, "__name__", "") == "<lambda>":
            function.__name__ = next(iter(functions))
    with pytest.raises(PluginError) as caught:
        PluginManager([plugin(**functions)])
    assert line in str(caught.value)
    assert "a_plugin" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("extra", [None, "forbid"])
def test_a_misspelt_setting_of_a_part_is_refused(extra):
    class Counting(Gate):
        name = "counting"
        before_commands = never

        class Config(BaseModel):
            model_config = ConfigDict(extra=extra) if extra else ConfigDict()

            most: int = 3

    @hookimpl
    def terminus_register_gates():
        return [Counting]

    manager = PluginManager([plugin(terminus_register_gates=terminus_register_gates)])
    assert isinstance(manager.config("gate", "counting", Settings()), Counting.Config)
    with pytest.raises(ConfigError, match=r"gate\.counting\.mots"):
        manager.config("gate", "counting", Settings.check({"gate": {"counting": {"mots": 2}}}))


@pytest.mark.parametrize("fault", [KeyError("odd"), TypeError("odd"), SystemExit("odd")])
def test_a_part_that_fails_to_check_its_settings_or_to_be_built_is_blamed(fault):
    def fail(given):
        raise fault

    class Checked(Gate):
        name = "checked"
        before_commands = never

        class Config(BaseModel):
            model_config = ConfigDict(extra="forbid")

            level: int = 1
            _check = field_validator("level")(fail)

    class Built(Gate):
        name = "built"
        before_commands = never
        __init__ = fail

    @hookimpl
    def terminus_register_gates():
        return [Checked, Built]

    manager = PluginManager([plugin(terminus_register_gates=terminus_register_gates)])
    settings = Settings.check({"gate": {"checked": {"level": 2}}})
    for name, act in (
        ("checked", manager.check),
        ("checked", lambda settings: manager.config("gate", "checked", settings)),
        ("built", lambda settings: manager.build("gate", "built", settings)),
    ):
        with pytest.raises(PluginError, match=rf"^gate '{name}' of plugin 'a_plugin' .*{type(fault).__name__}: .*odd"):
            act(settings)
    assert fault.__notes__[0] == "in plugin 'a_plugin' (a_plugin), gate 'checked'"


def test_a_hook_that_exits_fails_like_any_other(caplog):
    @hookimpl
    def terminus_record_marker(marker):
        sys.exit(3)

    PluginManager([plugin(terminus_record_marker=terminus_record_marker)]).hooks().record_marker(None, "x")
    assert "failed in terminus_record_marker: SystemExit: 3" in caplog.text


def test_fewer_arguments_are_fine():
    @hookimpl
    def terminus_command_sent(command):
        pass

    manager = PluginManager([plugin(terminus_command_sent=terminus_command_sent)])
    assert info(manager, "a_plugin").hooks == ["terminus_command_sent"]


def test_a_foreign_distribution_of_this_name_is_refused(distribution):
    distribution("terminus-core", {})
    with pytest.raises(ConfigError, match=r"terminus-core 1\.2\.3 is somebody else's program"):
        PluginManager()


def test_a_failing_observer_of_a_distribution_is_told_with_it(distribution, caplog):
    source = """
from terminus_core import hookimpl
class Boom:
    name = "boom"
    @hookimpl
    def terminus_run_started(self):
        raise ValueError("x")
@hookimpl
def terminus_register_observers():
    return [Boom]
"""
    distribution("boom-dist", {"blast": source})
    manager = PluginManager()
    manager.hooks([("observer", manager.build("observer", "boom", Settings()))]).run_started(None)
    assert "observer 'boom' of plugin 'blast' (boom-dist 1.2.3) failed in terminus_run_started" in caplog.text
