# SPDX-License-Identifier: MIT
"""`pirn trace plot`: pictures of a trace, as the thesis on pthreads for SHMAC draws them.

The timeline has a lane for each CPU, with time from left to right. Bars are turns of threads, one
colour a thread; a gap is an idle CPU. Events are dots on the lane's edges with name and thread
beside them, as many as can be read. Where turns are too many for bars of their own, each column of
pixels is divided among the threads that ran in it, so that a lane stays the same picture with any
number of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.errors import UserError, did_you_mean, listing
from pirn_tools.plotting import figure
from pirn_tools.trace.colours import Colours, hue
from pirn_tools.trace.loads import cpu_loads
from pirn_tools.trace.model import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]
SUFFIXES = (".png", ".svg")
MOST_BARS = 2500  # more turns are drawn as columns of pixels
MOST_LABELS = 90  # events with a name beside them
MOST_DOTS = 4000
COLUMNS = 2400  # of pixels in a lane
SUBROWS = 24  # in which a column of pixels shows several threads
BAR = 0.56  # height of a lane's bars, of 1
# Events that say most about scheduling; the first ones that fit are shown.
FAVOURITES = ("mark", "steal", "answer", "request", "join", "exit", "spawn", "wake", "block")
NOWHERE, ABOVE, BELOW = range(3)  # of a lane, for an event's label
UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3))


@dataclass(frozen=True)
class Window:
    """The part of the trace that is drawn, in nanoseconds, and the unit of the axis."""

    first: int
    last: int

    @property
    def unit(self) -> tuple[str, float]:
        length = self.last - self.first
        return next((unit for unit in UNITS if length >= unit[1]), UNITS[-1])


def check_suffix(output: Path) -> None:
    if output.suffix.lower() not in SUFFIXES:
        raise UserError(f"{output}: a picture ends in {' or '.join(SUFFIXES)}", status=2)


def window(model: Model, first: float | None, last: float | None) -> Window:
    """The part of the trace, given in milliseconds."""
    begin = 0 if first is None else round(first * 1e6)
    end = model.end if last is None else round(last * 1e6)
    if not 0 <= begin < end or begin >= model.end:
        if first is None and last is None:
            raise UserError("the trace has no events: there is nothing to draw")
        text = f"--from {begin / 1e6:g} --to {end / 1e6:g} is no part of the trace"
        raise UserError(f"{text}, which is {model.end / 1e6:g} ms long", status=2)
    return Window(begin, min(end, model.end))


def choose_events(model: Model, named: str | None) -> list[str] | None:
    """The events that the user wants to see; None: whatever fits."""
    if named is None:
        return None
    wanted = [word.strip() for word in named.split(",") if word.strip()]
    known = sorted(event.name for event in model.trace.table.events.values())
    for word in wanted:
        if word not in known:
            hint = did_you_mean(word, known)
            raise UserError(f'no event "{word}"{hint} (valid: {listing(known)})', status=2)
    return wanted


def timeline(
    model: Model, output: Path, part: Window, width: float, wanted: Sequence[str] | None
) -> None:
    """Which thread each CPU runs when."""
    cpus = model.trace.cpus
    spans = _inside(model, part)
    names = _shown(model, part, wanted, width)
    lane = 1.65 if names else 0.95  # names above one lane do not meet those below the next
    height = max(2.4, min(lane * cpus + 1.3, 40.0))
    colours = Colours(spans["key"])
    with figure(output, width, height) as axes:
        _lanes(axes, model, part)
        if len(spans) <= MOST_BARS:
            _bars(axes, spans, model, part, width, colours)
        else:
            _columns(axes, spans, model, part, colours)
        _events(axes, model, part, names, width, colours)
        if colours.scaled:
            _scale(axes, model, colours)
        threads = len(np.unique(spans["key"]))
        how = f"{threads:,} threads, {len(spans):,} turns"
        dots = f"; dots: {', '.join(names)}" if names else ""
        _finish(axes, model, part, f"{how}{dots}")


def load(model: Model, output: Path, part: Window, width: float) -> None:
    """How many threads each CPU has when."""
    unit, size = part.unit
    with figure(output, width, 4.2) as axes:
        edges = np.linspace(part.first, part.last, COLUMNS // 4 + 1)
        highest = 0.0
        for cpu, steps in enumerate(cpu_loads(model)):
            mean = steps.averages(edges)
            highest = max(highest, float(mean.max()))
            x = np.repeat(edges, 2)[1:-1] / size
            axes.plot(x, np.repeat(mean, 2), linewidth=1.1, label=f"CPU {cpu}", color=hue(cpu))
        for left, right in _pauses(model, part) / size:
            axes.axvspan(left, right, facecolor="0.93", hatch="//", edgecolor="0.8", zorder=0)
        axes.set_ylim(0, max(1.0, highest) * 1.06)
        axes.set_xlim(part.first / size, part.last / size)
        axes.set_xlabel(f"time ({unit})")
        axes.set_ylabel("threads running or ready")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", ncols=min(model.trace.cpus, 8), loc="upper right")
        axes.set_title(_title(model, "load of each CPU"), fontsize="medium", loc="left")


def _title(model: Model, what: str) -> str:
    meta = model.trace.table.meta
    program = Path(meta.get("program", "")).name
    sched = meta.get("sched", "")
    under = f" under {sched}" if sched else ""
    return f"{program}{under}: {what}" if program else what


def _lanes(axes: Axes, model: Model, part: Window) -> None:
    _, size = part.unit
    axes.set_xlim(part.first / size, part.last / size)
    axes.set_ylim(model.trace.cpus - 0.4, -0.6)
    axes.set_yticks(range(model.trace.cpus), [f"CPU {cpu}" for cpu in range(model.trace.cpus)])
    for cpu in range(model.trace.cpus):
        axes.axhline(cpu, color="0.75", linewidth=0.6, zorder=1)
        covered = model.covered[cpu] / size
        unknown = [(part.first / size, covered[0]), (covered[1], part.last / size)]
        unknown += [(left, right) for left, right in _pauses(model, part) / size]
        # Where the trace knows nothing of a CPU, an empty lane would look like an idle one.
        for left, right in unknown:
            if right > left:
                axes.barh(
                    cpu,
                    right - left,
                    0.9,
                    left,
                    color="0.93",
                    hatch="//",
                    edgecolor="0.8",
                    zorder=0,
                )


def _pauses(model: Model, part: Window) -> Array:
    """Where the program had its trace paused, cut to the window."""
    gaps = model.gaps[(model.gaps[:, 0] < part.last) & (model.gaps[:, 1] > part.first)]
    return np.clip(gaps, part.first, part.last)


def _finish(axes: Axes, model: Model, part: Window, what: str) -> None:
    unit, _ = part.unit
    axes.set_xlabel(f"time ({unit})")
    axes.set_title(_title(model, what), fontsize="medium", loc="left")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _inside(model: Model, part: Window) -> Array:
    """Turns of threads, cut to the window; idle threads leave gaps."""
    spans = model.cpu_spans
    own = (spans["start"] < part.last) & (spans["end"] > part.first)
    if len(spans):
        own &= ~model.idle[spans["key"]]
    spans = spans[own].copy()
    spans["start"] = np.maximum(spans["start"], part.first)
    spans["end"] = np.minimum(spans["end"], part.last)
    return spans


def _bars(
    axes: Axes, spans: Array, model: Model, part: Window, width: float, colours: Colours
) -> None:
    from matplotlib.collections import PolyCollection

    _, size = part.unit
    left, right = spans["start"] / size, spans["end"] / size
    low, high = spans["cpu"] - BAR / 2, spans["cpu"] + BAR / 2
    corners = np.stack(
        [np.stack(pair, 1) for pair in ((left, low), (left, high), (right, high), (right, low))],
        axis=1,
    )
    fill = colours.of(spans["key"])
    # An edge in the bar's own colour: a short turn is thin, not invisible.
    bars = PolyCollection(list(corners), facecolors=fill, edgecolors=fill, linewidths=0.4)
    bars.set_zorder(2)
    axes.add_collection(bars)
    _names(axes, spans, model, part, width, colours)


def _names(
    axes: Axes, spans: Array, model: Model, part: Window, width: float, colours: Colours
) -> None:
    """The thread's name or number inside the bars that have room for it."""
    _, size = part.unit
    room = (spans["end"] - spans["start"]) / (part.last - part.first) * (width - 1.0) * 72
    for place in np.flatnonzero(room > 14).tolist():
        thread = model.threads[int(spans["key"][place])]
        texts = (thread.label, thread.number, str(thread.index))
        text = next((one for one in texts if len(one) * 4.6 + 4 < room[place]), None)
        if text is None:
            continue
        middle = (spans["start"][place] + spans["end"][place]) / 2 / size
        axes.text(
            middle,
            float(spans["cpu"][place]),
            text,
            ha="center",
            va="center",
            fontsize=7,
            color="white" if colours.dark(thread.key) else "black",
            clip_on=True,
            zorder=4,
        )


def _columns(axes: Axes, spans: Array, model: Model, part: Window, colours: Colours) -> None:
    """Columns of pixels, each divided among the threads that ran in it, and idling."""
    _, size = part.unit
    for cpu in range(model.trace.cpus):
        picture = lane_picture(spans[spans["cpu"] == cpu], part, colours)
        axes.imshow(
            picture,
            extent=(part.first / size, part.last / size, cpu + BAR / 2, cpu - BAR / 2),
            aspect="auto",
            interpolation="nearest",
            zorder=2,
        )


def lane_picture(spans: Array, part: Window, colours: Colours) -> Array:
    """SUBROWS by COLUMNS pixels with colours; transparent where the CPU was idle.

    A pixel of a column stands for a moment in it: of SUBROWS moments at equal distances in the time
    of the column the thread that ran then. So areas are shares of time.
    """
    picture = np.zeros((SUBROWS, COLUMNS, 4), np.float32)
    if not len(spans):
        return picture
    moments = part.first + (np.arange(COLUMNS * SUBROWS) + 0.5) / (COLUMNS * SUBROWS) * (
        part.last - part.first
    )
    place = np.searchsorted(spans["start"], moments, side="right") - 1
    hit = (place >= 0) & (moments < spans["end"][np.maximum(place, 0)])
    keys = np.where(hit, spans["key"][np.maximum(place, 0)], -1).reshape(COLUMNS, SUBROWS)
    # Within a column the order of moments means nothing to the eye: threads beside their like.
    keys = np.sort(keys, axis=1)[:, ::-1]
    found, inverse = np.unique(keys, return_inverse=True)
    palette = np.concatenate([colours.of(found), (found >= 0)[:, None]], axis=1)
    return np.asarray(palette[inverse].reshape(COLUMNS, SUBROWS, 4).transpose(1, 0, 2), np.float32)


def _shown(model: Model, part: Window, wanted: Sequence[str] | None, width: float) -> list[str]:
    """Which events get dots."""
    rows = {name: _rows(model, part, name) for name in wanted or FAVOURITES}
    rows = {name: found for name, found in rows.items() if len(found)}
    if wanted is None:
        return _fitting(rows, _room(width))
    most = sum(len(found) for found in rows.values())
    if most > MOST_DOTS:
        raise UserError(f"{most:,} events to show, at most {MOST_DOTS:,}: use --from and --to")
    return list(rows)


def _room(width: float) -> int:
    """How many labels fit into a picture."""
    return max(12, round(MOST_LABELS * (width - 1) / 11))


def _events(
    axes: Axes, model: Model, part: Window, names: list[str], width: float, colours: Colours
) -> None:
    """Dots, with names where these can be read."""
    if names:
        every = np.sort(np.concatenate([_rows(model, part, name) for name in names]))
        _dots(axes, model, part, every, width, colours)


def _scale(axes: Axes, model: Model, colours: Colours) -> None:
    """Which colours are which threads."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    count = len(colours.keys)
    painted = ListedColormap(colours.of(colours.keys))
    bar = axes.figure.colorbar(
        ScalarMappable(Normalize(0, count - 1), painted), ax=axes, pad=0.01, fraction=0.03
    )
    places = np.linspace(0, count - 1, 6).astype(np.int64)
    labels = [model.threads[int(colours.keys[place])].number for place in places.tolist()]
    bar.set_ticks(places.tolist(), labels=labels)
    bar.set_label("thread", fontsize="small")
    bar.ax.tick_params(labelsize=7)


def _rows(model: Model, part: Window, name: str) -> Array:
    rows = model.trace.which(name)
    ns = model.ns[rows]
    inside = (ns >= part.first) & (ns <= part.last) & (model.trace.rows["cpu"][rows] >= 0)
    return rows[inside]


def _fitting(rows: dict[str, Array], room: int) -> list[str]:
    names = []
    for name, found in rows.items():
        if len(found) <= room:
            names.append(name)
            room -= len(found)
    return names


def subjects(model: Model) -> Array:
    """For each row the thread that the event is about: that of its field, else the one that ran."""
    found = model.key.copy()
    for event in model.trace.table.events.values():
        for name in ("thread", "next", "first"):
            field = event.field(name)
            if field is not None and field.type == "thread":
                rows = model.trace.which(event.name)
                found[rows] = model.keys_of(event.name, name)
    return found


def _dots(
    axes: Axes, model: Model, part: Window, rows: Array, width: float, colours: Colours
) -> None:
    _, size = part.unit
    cpu = model.trace.rows["cpu"][rows]
    x = model.ns[rows] / size
    subject = subjects(model)[rows]
    fill = colours.of(subject)
    sides = _sides(x, cpu, (part.last - part.first) / size / (width - 1.0) * 0.16)
    # On the edges of the lane: the names of threads are in the middle of it.
    y = np.where(sides == BELOW, cpu + BAR / 2, cpu - BAR / 2)
    axes.scatter(x, y, s=16, c=fill, edgecolors="black", linewidths=0.5, zorder=5)
    if len(rows) > 2 * _room(width):
        return
    for place in np.flatnonzero(sides != NOWHERE).tolist():
        text = _event_text(model, int(rows[place]), int(subject[place]))
        _label(axes, text, float(x[place]), int(cpu[place]), sides[place] == ABOVE)


def _sides(x: Array, cpu: Array, gap: float) -> Array:
    """Where labels go, above and below the lane in turns; one that would cover another is left
    out."""
    found = np.full(len(x), NOWHERE)
    taken: dict[tuple[int, int], float] = {}
    first, second = BELOW, ABOVE
    for place, (at, lane) in enumerate(zip(x.tolist(), cpu.tolist(), strict=True)):
        first, second = second, first
        for side in (first, second):
            if at - taken.get((lane, side), -np.inf) >= gap:
                taken[lane, side] = at
                found[place] = side
                break
    return found


def _event_text(model: Model, row: int, key: int) -> str:
    event = model.trace.table.events[int(model.trace.rows["event"][row])]
    text = model.trace.text(row) if event.name == "mark" else ""
    types = {one.type: one.name for one in event.fields}
    if "cpu" in types and "thread" not in types:
        # An event between two CPUs: the thread that runs there has no part in it.
        other = model.trace.values(event.name, types["cpu"], np.array([row]))[0]
        return f"{event.name} CPU {other}"
    who = model.threads[key].number if key >= 0 else ""
    return f"{text or event.name} {who}".strip()


def _label(axes: Axes, text: str, at: float, lane: int, above: bool) -> None:
    axes.annotate(
        text,
        (at, lane - BAR / 2 if above else lane + BAR / 2),
        xytext=(0, 1 if above else -1),
        textcoords="offset points",
        rotation=38,
        ha="left" if above else "right",
        va="bottom" if above else "top",
        fontsize=6.5,
        color="0.15",
        annotation_clip=True,
        zorder=6,
    )
