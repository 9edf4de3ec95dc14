"""`wiretool fuzz corpus`: reduce and join folders of sequences."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.target_options import folder_parser

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Reduce and join folders of sequences that fuzz --corpus wrote.",
)

CorpusFolder = Annotated[
    Path,
    typer.Argument(parser=folder_parser("FOLDER"), metavar="FOLDER", show_default=False, help="folder of sequences"),
]


@app.command()
def minimise(folder: CorpusFolder) -> None:
    """Remove sequences that add nothing new on the built-in mock."""
    from wiretool.commands.conform.reports import write_text
    from wiretool.errors import OutputError, system_reason
    from wiretool.fuzz.seeds.corpus import minimise as minimise_corpus

    try:
        done = minimise_corpus(folder)
    except OSError as err:
        raise OutputError(f"{folder}: {system_reason(err)}") from err
    write_text(f"{folder}: {done.after:,} of {done.before:,} sequences kept, with all {done.features:,} features\n")


@app.command()
def merge(
    folder: CorpusFolder,
    others: Annotated[
        list[Path],
        typer.Argument(
            parser=folder_parser("OTHER"), metavar="OTHER...", show_default=False, help="folders to take sequences from"
        ),
    ],
) -> None:
    """Add the sequences of other folders to a folder."""
    from wiretool.commands.conform.reports import write_text
    from wiretool.errors import OutputError, system_reason
    from wiretool.fuzz.seeds.corpus import merge as merge_corpora
    from wiretool.units import counted

    try:
        done = merge_corpora(folder, others)
    except OSError as err:
        raise OutputError(f"{folder}: {system_reason(err)}") from err
    write_text(f"{folder}: {counted(done.added, 'sequence')} added, {done.known:,} were there\n")
