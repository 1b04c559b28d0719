"""The measurements of pages as tables: views, the gallery, spaces and the app."""

from __future__ import annotations

from typing import Any

from benchmarks.output import markdown_table


def _mb(value: float) -> str:
    return f"{value / 1000:.1f} GB" if value >= 1000 else f"{value:.0f} MB" if value >= 100 else f"{value:.1f} MB"


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def _pair(data: dict[str, Any], view: str, tokens: int) -> tuple[dict[str, Any], dict[str, Any]]:
    row = next(row for row in data["results"] if row["view"] == view and row["tokens"] == tokens)
    return row["bertviz"], row["ours"]


def _ratio(theirs: dict[str, Any], ours: dict[str, Any], name: str) -> str:
    return f" (1/{theirs[name] / ours[name]:.0f})" if theirs.get(name) and ours.get(name) else ""


def _hover(side: dict[str, Any]) -> str:
    if side.get("hover_ms") is None:
        return "–"
    slowest = side["hover_max_ms"]
    return f"{side['hover_ms']:.0f} ms ({slowest / 1000:.1f} s)" if slowest >= 1000 else f"{side['hover_ms']:.0f} ms ({slowest:.0f} ms)"


def views(data: dict[str, Any]) -> str:
    rows = []
    for view, tokens, page_bar, drawn_bar in (("head", 128, "4 MB", "1/10"), ("model", 128, "4 MB", "1/25")):
        theirs, ours = _pair(data, view, tokens)
        rows.append([f"{view} view, {tokens} tokens: page", _mb(theirs["page_mb"]), _mb(ours["page_mb"]), page_bar])
        rows.append(["… until drawn", _seconds(theirs["drawn_s"]), _seconds(ours["drawn_s"]) + _ratio(theirs, ours, "drawn_s"), drawn_bar])
        rows.append(["… hover", _hover(theirs), _hover(ours), "50 ms"])
    theirs, ours = _pair(data, "head", 512)
    rows.append(["head view, 512 tokens: page", f"{_mb(theirs['page_mb'])}, more than Chromium can hold", _mb(ours["page_mb"]), "25 MB"])
    built = f"{_seconds(ours['build_s'])}{_ratio(theirs, ours, 'build_s')}, {_mb(ours['peak_mb'])}{_ratio(theirs, ours, 'peak_mb')}"
    rows.append(["… build: time, memory", f"{_seconds(theirs['build_s'])}, {_mb(theirs['peak_mb'])}", built, "1/20"])
    for view in ("head", "model"):
        theirs, ours = _pair(data, view, 512)
        shown = f"{_seconds(ours['drawn_s'])}, {_hover(ours)}"
        rows.append([f"{view} view, 512 tokens: until drawn, hover", _seconds(theirs["drawn_s"]), shown, "drawn, 100 ms"])
    _, long = _pair(data, "head", 4096)
    shown = f"{_mb(long['page_mb'])}, drawn in {_seconds(long['drawn_s'])} as a heatmap, hover {_hover(long)}"
    rows.append(["one head, 4,096 tokens", "not tried", shown, "opens, pans, zooms"])
    return markdown_table(["", "BertViz 1.4.1", "eyeline", "bar"], rows)


def comparison(data: dict[str, Any]) -> str:
    """The short table of README.md."""
    rows = []
    for view in ("head", "model"):
        theirs, ours = _pair(data, view, 128)
        both = [f"{_mb(side['page_mb'])}, drawn in {_seconds(side['drawn_s'])}, hover {side['hover_ms']:.0f} ms" for side in (theirs, ours)]
        rows.append([f"{view} view, 128 tokens", *both])
    theirs, ours = _pair(data, "head", 512)
    built = [f"{_mb(side['page_mb'])}, drawn: {_seconds(side['drawn_s'])}, {_mb(side['peak_mb'])} to build" for side in (theirs, ours)]
    rows.append(["head view, 512 tokens", *built])
    _, long = _pair(data, "head", 4096)
    rows.append(["one head, 4,096 tokens", "–", f"{_mb(long['page_mb'])}, {_seconds(long['drawn_s'])}, as a heatmap"])
    return markdown_table(["", "BertViz", "eyeline"], rows)


def opening(data: dict[str, Any]) -> str:
    rows = []
    for row in data["results"]:
        name = "a page of one line" if row["view"] == "empty" else f"{row['view']} view, {row['tokens']} tokens"
        clock = f"{row['wall_ms']} ({row['wall_painted_ms']})" if "wall_painted_ms" in row else "–"
        rows.append([name, f"{row['until_drawn_ms']} + {row['first_frame_ms']}", clock, {30: "150", 128: "250"}.get(row["tokens"], "")])
    return markdown_table(["12 x 12 heads", "processor ms", "clock ms (with the next frame)", "bar on the clock"], rows)


def gallery(data: dict[str, Any]) -> str:
    rows = [[row["page"], f"{row['processor_ms']} ms", f"{row['wall_ms']} ms", "", "2 s"] for row in data["results"]]
    rows += [[f"{model}, its folder", "", "", f"{size} MB", "60 MB"] for model, size in data["megabytes"].items()]
    return markdown_table(["page", "processor", "clock", "on disk", "bar"], rows)


def space_view(data: dict[str, Any]) -> str:
    few, many = data["results"]
    rows = [
        ["page", f"{few['page_mb']:.1f} MB", f"{many['page_mb']:.0f} MB", "30 MB at 5,000"],
        ["until drawn, WebGL (in software)", *(f"{each['webgl']['drawn_s']:.1f} s" for each in (few, many)), "3 s at 20,000"],
        ["… without WebGL", *(f"{each['without']['drawn_s']:.1f} s" for each in (few, many)), ""],
        ["opening a head", *(f"{each['webgl']['opened_s']:.1f} s" for each in (few, many)), ""],
        ["hover", *(f"{each['webgl']['hover_ms']:.0f} ms" for each in (few, many)), ""],
        ["a step of zooming", *(f"{each['webgl']['zoom_ms']:.0f} ms" for each in (few, many)), ""],
    ]
    return markdown_table([f"{few['heads']} heads", f"{few['points']:,} points", f"{many['points']:,} points", "bar"], rows)


def app(data: dict[str, Any]) -> str:
    drawn, alone, room = data["in_chromium"]["from_click_to_drawing_s"], data["alone"]["own_text_s"], data["together"]
    memory, ratio = room["server_memory_mb"], data.get("ratio")
    crowds = [["… first page, own text: median (slowest)", _waits(room), ""]]
    if ratio:
        few, against = data["few_together"], ratio["against_twenty_before"]
        crowds.append([f"… {few['visitors']} visitors in the same hour", _waits(few), ""])
        times = f"{against['first_page_s']:.2f}, {against['own_text_s']:.2f} times"
        crowds.append(["… against 20 visitors before (0.45 s, 3.59 s)", times, f"{ratio['bar']:g} times"])
    costs = [[f"processor time: {kind}", f"{ms:.0f} ms", ""] for kind, ms in data.get("processor_ms", {}).items()]
    rows = [
        [
            "one visitor: from the click to the drawn view, in Chromium",
            f"{drawn['median']:.2f} s ({drawn['slowest']:.2f} s)",
            "1 s",
        ],
        ["… until the whole page was sent, with the picture of one head", f"{alone['median']:.2f} s ({alone['slowest']:.2f} s)", "1 s"],
        [f"{room['visitors']} visitors at once, {room['rounds']} times: served", f"{room['served']} of {room['of']}", "all"],
        ["… who received a word of another visitor's text", f"{room['saw_the_text_of_another']}", "0"],
        *crowds,
        ["… processor time for each visitor (two pages)", f"{room['processor_s_a_visit']:.2f} s", ""],
        ["server's memory before, and after each time", f"{memory[0]}; {', '.join(map(str, memory[1:]))} MB", "flat"],
        *costs,
    ]
    return markdown_table(["", "", "bar"], rows)


def two_apps(data: dict[str, Any]) -> str:
    room, ratio = data["together"], data["ratio"]
    against = ratio["against_twenty_before"]
    rows = [
        [f"{room['visitors']} visitors at once, {room['rounds']} times: served", f"{room['served']} of {room['of']}", "all"],
        ["… first page, own text: median (slowest)", _waits(room), ""],
        ["… 20 visitors in the same hour", _waits(data["few_together"]), ""],
        [
            "… against 20 visitors of one app before (0.45 s, 3.59 s)",
            f"{against['first_page_s']:.2f}, {against['own_text_s']:.2f} times",
            f"{ratio['bar']:g} times",
        ],
    ]
    return markdown_table(["two apps behind nginx", "", "bar"], rows)


def clicks(data: dict[str, Any]) -> str:
    names = {"corpus": "a dot of a corpus run", "grammar": "a cell of a grammar run", "space": "a cell of a space"}
    rows = []
    for row in data["results"]:
        times = [f"{row[name]['first']}, {row[name]['median']} ({row[name]['slowest']})" for name in ("lit", "in_view", "drawn")]
        rows.append([names[row["figure"]], *times, "500"])
    return markdown_table(["ms from a click on …", "its ring", "its card in view", "… with its view", "bar"], rows)


def _waits(room: dict[str, Any]) -> str:
    first, own = room["first_page_s"], room["own_text_s"]
    return f"{first['median']:.1f} s ({first['slowest']:.1f} s), {own['median']:.1f} s ({own['slowest']:.1f} s)"
