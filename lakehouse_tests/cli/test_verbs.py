"""The list of verbs: where each is, and what it does."""

from lakehouse.cli.lazy_verb import LazyVerb
from lakehouse.cli.verbs import PANELS


def test_the_list_of_verbs_says_what_each_says_of_itself() -> None:
    """It stands there a second time, so that no verb is imported for it."""
    for panel, verbs in PANELS.items():
        for verb in verbs:
            whole = LazyVerb(verb, panel).whole
            assert (whole.name, whole.rich_help_panel) == (verb.name, panel)
            assert " ".join(whole.help.split("\n\n")[0].split()) == verb.help
