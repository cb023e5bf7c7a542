"""embedding-datasets site [NAME...] : a catalogue of releases to browse, as a folder of pages that needs no server."""

import argparse

from pipelines import command

EXAMPLES = """\
  embedding-datasets site --output site             all releases below outputs/
  embedding-datasets site cedr rubq --output site   those of two sources
  embedding-datasets site --releases my/outputs --output site
  embedding-datasets site --docs --output site      with this documentation, in a checkout

Open site/index.html, or put the folder on any web server."""


def main() -> int:
    """Write a site of the releases that the command line names; returns 1 where one of them is damaged, else 0."""
    options = command.parse(parser())
    from pipelines.catalogue_site.release_data import find_datasets
    from pipelines.catalogue_site.site import write_site
    from pipelines.process.stages import show_stages

    datasets = find_datasets(options.names, options.releases)
    with show_stages("site"):
        states = write_site(
            datasets,
            options.output,
            rights=options.i_have_the_rights,
            overwrite=options.overwrite,
            address=options.url,
            docs=options.docs,
        )
    index = options.output.absolute() / "index.html"
    if options.json:
        releases = [{"release": name, "state": state} for name, state in states]
        command.print_json({"index": str(index), "releases": releases})
    else:
        print(f"{len(states)} release{'s' if len(states) > 1 else ''}: open {index}")
    return int(any(state == "damaged" for _, state in states))


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser(
        "site", "Write a catalogue of releases as a static site: cards, rows, problems, versions.", EXAMPLES
    )
    arguments.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{command.NAMES} (default: all that the folder has)"
    )
    command.add_releases_option(arguments)
    command.add_output(
        arguments,
        "--output",
        "site",
        required=True,
        metavar="DIR",
        help="the folder of the site: new, empty, or an older site",
    )
    arguments.add_argument(
        "--i-have-the-rights",
        action="store_true",
        help="also show texts under no-derivatives licences",
    )
    arguments.add_argument(
        "--url",
        default="",
        metavar="URL",
        help="where the site will be on the web; previews of links need it for their picture",
    )
    command.add_flags(
        arguments,
        {
            "--docs": "with the documentation in its folder docs/; needs the extra `docs`, in a checkout",
            "--json": "one JSON object on stdout, for programs",
        },
    )
    return arguments


if __name__ == "__main__":
    command.run(main)
