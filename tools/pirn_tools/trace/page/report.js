// SPDX-License-Identifier: MIT
// The report's page: a timeline with a lane for each CPU and a line for each chosen thread, a search,
// tables. The data are arrays (report.py says which), packed, in the page itself.
'use strict';

const meta = JSON.parse(document.getElementById('meta').textContent);
const $ = (id) => document.getElementById(id);
const canvas = $('timeline'), tip = $('tip');
const LEFT = 150, TOP = 24, LANE = 46, LINE = 22, SLICES = 6, MOST_DOTS = 700, MOST_ARROWS = 2000;
const STATES = ['new', 'ready', 'running', 'blocked'];
const STATE_COLOURS = ['#ccc', '#f2b134', '#2e9e5b', '#d9dde2'];
const QUIET = new Set(['switch', 'tick_in', 'tick_out', 'idle_in', 'idle_out', 'sleep_in', 'sleep_out']);

let data = null;                     // arrays, by name
let view = { first: 0, last: Math.max(1, meta.end) };
let pinned = [];                     // keys of threads that have a line
let chosen = -1;                     // the thread that stands out
const shown = new Set();             // numbers of events that get dots
let arrows = 0;                      // messages that are drawn

async function unpack() {
    const raw = Uint8Array.from(atob($('data').textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream('deflate'));
    const buffer = await new Response(stream).arrayBuffer();
    const kinds = { f8: Float64Array, i4: Int32Array, u4: Uint32Array, i2: Int16Array, u2: Uint16Array, u1: Uint8Array };
    const arrays = {};
    for (const [name, kind, offset, length] of meta.arrays) {
        arrays[name] = new kinds[kind](buffer, offset, length);
    }
    return arrays;
}

// The last place in a[first, end) whose value is at most x; first - 1 if there is none.
function lastUpTo(a, x, first, end) {
    while (first < end) {
        const middle = (first + end) >> 1;
        if (a[middle] <= x) first = middle + 1; else end = middle;
    }
    return first - 1;
}

function duration(ns) {
    for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) {
        if (Math.abs(ns) >= size) return (ns / size).toPrecision(4) + ' ' + unit;
    }
    return Math.round(ns) + ' ns';
}

function label(key) {
    if (key < 0) return '-';
    const [number, name] = meta.threads[key];
    return name ? number + ' "' + name + '"' : number;
}

const busy = meta.threads.map((_, key) => key).filter((key) => !meta.threads[key][2]);
const rank = new Map(busy.map((key, place) => [key, place]));
const many = busy.length > 32;

function colour(key) {
    const place = rank.get(key);
    if (place === undefined) return '#fff';
    if (many) return `hsl(${Math.round(255 * (1 - place / busy.length))} 75% 48%)`;
    return `hsl(${Math.round(place * 222.49) % 360} 60% ${[55, 70, 42][place % 3]}%)`;
}

// ---- geometry

const width = () => canvas.clientWidth;
const scale = () => (width() - LEFT) / (view.last - view.first);
const toX = (ns) => LEFT + (ns - view.first) * scale();
const toNs = (x) => view.first + (x - LEFT) / scale();
const laneTop = (cpu) => TOP + cpu * LANE;
const lineTop = (place) => TOP + meta.cpus * LANE + 8 + place * LINE;
const height = () => lineTop(pinned.length) + 8;

function zoom(factor, at) {
    const length = Math.min(Math.max((view.last - view.first) * factor, 10), Math.max(meta.end, 10));
    const share = (at - view.first) / (view.last - view.first);
    show(at - length * share, length);
}

function show(first, length) {
    first = Math.max(0, Math.min(first, Math.max(meta.end, length) - length));
    view = { first, last: first + length };
    draw();
}

// ---- spans: where a lane's or a line's arrays are, and what is at a time

function laneAt(cpu, ns) {
    const begin = data.cpuFirst[cpu], end = data.cpuFirst[cpu + 1];
    const place = lastUpTo(data.cpuStart, ns, begin, end);
    return place >= begin && ns < data.cpuEnd[place] ? place : -1;
}

function lineAt(key, ns) {
    const begin = data.threadFirst[key], end = data.threadFirst[key + 1];
    const place = lastUpTo(data.threadStart, ns, begin, end);
    return place >= begin && ns < data.threadEnd[place] ? place : -1;
}

// ---- drawing

function paintSpans(g, starts, ends, begin, end, top, tall, paint) {
    const from = Math.max(begin, lastUpTo(starts, view.first, begin, end));
    const to = lastUpTo(starts, view.last, begin, end) + 1;
    if (to - from > 2 * width()) {
        paintMoments(g, starts, ends, begin, end, top, tall, paint);
        return;
    }
    for (let place = from; place < to; place++) {
        if (ends[place] < view.first) continue;
        const fill = paint(place);
        if (fill === null) continue;
        const left = Math.max(LEFT, toX(starts[place]));
        const right = Math.min(width(), toX(ends[place]));
        g.fillStyle = fill;
        g.fillRect(left, top, Math.max(right - left, 0.7), tall);
    }
}

// Too many spans: each column of pixels shows who was there at some moments of it.
function paintMoments(g, starts, ends, begin, end, top, tall, paint) {
    const step = 1 / scale() / SLICES;
    for (let x = LEFT; x < width(); x++) {
        for (let slice = 0; slice < SLICES; slice++) {
            const ns = toNs(x) + (slice + 0.5) * step;
            const place = lastUpTo(starts, ns, begin, end);
            if (place < begin || ns >= ends[place]) continue;
            const fill = paint(place);
            if (fill === null) continue;
            g.fillStyle = fill;
            g.fillRect(x, top + slice * tall / SLICES, 1, tall / SLICES);
        }
    }
}

const laneName = (cpu) => (meta.lanes ? meta.lanes[cpu] : 'CPU ' + cpu);

function paintLane(g, cpu) {
    const top = laneTop(cpu);
    g.fillStyle = '#444';
    g.fillText(laneName(cpu), 8, top + LANE / 2);
    g.fillStyle = '#eceef0';
    g.fillRect(LEFT, top + LANE / 2 - 0.5, width() - LEFT, 1);
    const [first, last] = meta.covered[cpu];
    g.fillStyle = '#e3e3e3';
    if (first > view.first) g.fillRect(LEFT, top + 4, Math.min(width(), toX(first)) - LEFT, LANE - 8);
    if (last < view.last) g.fillRect(Math.max(LEFT, toX(last)), top + 4, width(), LANE - 8);
    for (const [from, to] of meta.gaps) {
        if (to < view.first || from > view.last) continue;
        const left = Math.max(LEFT, toX(from));
        g.fillRect(left, top + 4, Math.max(1, Math.min(width(), toX(to)) - left), LANE - 8);
    }
    const begin = data.cpuFirst[cpu], end = data.cpuFirst[cpu + 1];
    paintSpans(g, data.cpuStart, data.cpuEnd, begin, end, top + 6, LANE - 16, (place) => {
        const key = data.cpuKey[place];
        if (meta.threads[key][2]) return null;
        if (chosen >= 0 && key !== chosen) return '#e8e4ea';
        return colour(key);
    });
    paintNames(g, begin, end, top);
}

function paintNames(g, begin, end, top) {
    const from = Math.max(begin, lastUpTo(data.cpuStart, view.first, begin, end));
    const to = lastUpTo(data.cpuStart, view.last, begin, end) + 1;
    if (to - from > 400) return;
    g.save();
    g.font = '10px sans-serif';
    for (let place = from; place < to; place++) {
        const key = data.cpuKey[place];
        if (meta.threads[key][2]) continue;
        const left = Math.max(LEFT, toX(data.cpuStart[place]));
        const room = Math.min(width(), toX(data.cpuEnd[place])) - left;
        const text = [label(key), meta.threads[key][0]].find((one) => g.measureText(one).width + 6 < room);
        if (!text) continue;
        g.fillStyle = 'rgba(255,255,255,.75)';
        g.fillRect(left + 1, top + 9, g.measureText(text).width + 4, 13);
        g.fillStyle = '#111';
        g.fillText(text, left + 3, top + 16);
    }
    g.restore();
}

function paintLine(g, key, place) {
    const top = lineTop(place);
    g.fillStyle = key === chosen ? '#000' : '#555';
    g.fillText(label(key).slice(0, 24), 8, top + LINE / 2);
    const begin = data.threadFirst[key], end = data.threadFirst[key + 1];
    paintSpans(g, data.threadStart, data.threadEnd, begin, end, top + 3, LINE - 6,
        (span) => STATE_COLOURS[data.threadState[span]]);
}

function paintAxis(g) {
    const goal = (view.last - view.first) / Math.max(2, (width() - LEFT) / 110);
    const power = 10 ** Math.floor(Math.log10(Math.max(goal, 1)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= goal);
    g.fillStyle = '#5d6670';
    for (let at = Math.ceil(view.first / step) * step; at <= view.last; at += step) {
        g.fillRect(toX(at), TOP - 6, 1, 4);
        g.fillText(duration(at), toX(at) + 3, TOP - 12);
    }
}

function visibleEvents() {
    const from = lastUpTo(data.eventNs, view.first - 1, 0, data.eventNs.length) + 1;
    const to = lastUpTo(data.eventNs, view.last, 0, data.eventNs.length) + 1;
    const found = [];
    for (let row = from; row < to && found.length <= MOST_DOTS; row++) {
        if (to - from > 400000) return [];
        if (shown.has(data.eventId[row]) && data.eventCpu[row] >= 0) found.push(row);
    }
    return found.length > MOST_DOTS ? [] : found;
}

let dots = [];

function paintDots(g) {
    dots = visibleEvents();
    for (const row of dots) {
        g.beginPath();
        g.arc(toX(data.eventNs[row]), laneTop(data.eventCpu[row]) + LANE - 7, 3, 0, 7);
        g.fillStyle = colour(data.eventKey[row]);
        g.fill();
        g.strokeStyle = '#333';
        g.stroke();
    }
}

// Messages between ranks (`pirn trace merge`): those that are under way in the view, in the order in
// which they are sent. Those that were sent up to one view earlier are looked for.
function paintMessages(g) {
    if (!data.messageSent) return;
    const sent = data.messageSent, early = view.first - (view.last - view.first);
    const from = Math.max(0, lastUpTo(sent, early, 0, sent.length));
    const to = lastUpTo(sent, view.last, 0, sent.length) + 1;
    arrows = 0;
    if (to - from > MOST_ARROWS) return;
    g.save();
    g.beginPath();
    g.rect(LEFT, 0, width() - LEFT, height());
    g.clip();
    g.strokeStyle = g.fillStyle = 'rgba(20,20,20,.7)';
    for (let at = from; at < to; at++) {
        if (data.messageReceived[at] < view.first) continue;
        arrows++;
        paintArrow(g, toX(sent[at]), laneTop(data.messageFrom[at]) + LANE / 2,
            toX(data.messageReceived[at]), laneTop(data.messageTo[at]) + LANE / 2);
    }
    g.restore();
}

function paintArrow(g, x, y, toX, toY) {
    const length = Math.max(1, Math.hypot(toX - x, toY - y));
    const dx = (toX - x) / length, dy = (toY - y) / length;
    g.beginPath();
    g.moveTo(x, y);
    g.lineTo(toX, toY);
    g.stroke();
    g.beginPath();
    g.moveTo(toX, toY);
    g.lineTo(toX - 7 * dx - 3 * dy, toY - 7 * dy + 3 * dx);
    g.lineTo(toX - 7 * dx + 3 * dy, toY - 7 * dy - 3 * dx);
    g.fill();
}

function draw() {
    if (data === null) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = height() + 'px';
    canvas.width = width() * ratio;
    canvas.height = height() * ratio;
    const g = canvas.getContext('2d');
    g.scale(ratio, ratio);
    g.font = '12px sans-serif';
    g.textBaseline = 'middle';
    paintAxis(g);
    for (let cpu = 0; cpu < meta.cpus; cpu++) paintLane(g, cpu);
    pinned.forEach((key, place) => paintLine(g, key, place));
    paintDots(g);
    paintMessages(g);
    $('range').textContent = duration(view.first) + ' – ' + duration(view.last)
        + '  (' + duration(view.last - view.first) + ')';
}

// ---- what is under the mouse

function eventText(row) {
    const [name, fields] = meta.events[data.eventId[row]];
    const places = { small: data.eventSmall[row], a: data.eventA[row], b: data.eventB[row] };
    const words = fields.map(([place, field, type]) => {
        if (place === 'text') {
            const text = data.eventText[row];
            return text >= 0 ? '"' + meta.texts[text] + '"' : '';
        }
        if (place === 'ab') {
            const both = (BigInt(places.b) << 32n) | BigInt(places.a);
            return field + ' ' + (type === 'value' ? BigInt.asIntN(64, both) : '0x' + both.toString(16));
        }
        const value = places[place];
        if (type === 'thread') return field + ' ' + (value === 0xffffffff ? '-' : value);
        return field + ' ' + ((meta.enums[type] || {})[value] || value);
    });
    return name + ' ' + words.join(', ') + '\n' + 'by ' + label(data.eventKey[row])
        + ' at ' + duration(data.eventNs[row]);
}

function laneText(cpu, ns) {
    const place = laneAt(cpu, ns);
    if (place < 0) return null;
    const key = data.cpuKey[place];
    const who = meta.threads[key][2] ? 'idle' : label(key);
    const start = data.cpuStart[place];
    return `${who} on ${laneName(cpu)}\nfrom ${duration(start)} for ${duration(data.cpuEnd[place] - start)}`;
}

function lineText(key, ns) {
    const place = lineAt(key, ns);
    if (place < 0) return label(key);
    const state = STATES[data.threadState[place]];
    const reason = data.threadReason[place];
    const why = state === 'blocked' ? ': ' + ((meta.enums.wait || {})[reason] || 'unknown')
        : state === 'running' ? ' on ' + laneName(data.threadCpu[place]) : '';
    const start = data.threadStart[place];
    return `${label(key)} ${state}${why}\nfrom ${duration(start)} for ${duration(data.threadEnd[place] - start)}`;
}

function place(x, y) {
    const cpu = Math.floor((y - TOP) / LANE);
    if (cpu >= 0 && cpu < meta.cpus) return { cpu };
    const line = Math.floor((y - lineTop(0)) / LINE);
    return line >= 0 && line < pinned.length ? { line } : {};
}

function textAt(x, y) {
    const { cpu, line } = place(x, y);
    if (x < LEFT) return null;
    if (cpu !== undefined) {
        const near = dots.find((row) => data.eventCpu[row] === cpu && Math.abs(toX(data.eventNs[row]) - x) < 4
            && y > laneTop(cpu) + LANE - 12);
        return near !== undefined ? eventText(near) : laneText(cpu, toNs(x));
    }
    return line !== undefined ? lineText(pinned[line], toNs(x)) : null;
}

function hover(event) {
    const text = textAt(event.offsetX, event.offsetY);
    tip.hidden = text === null;
    if (text === null) return;
    tip.textContent = text;
    tip.style.left = Math.min(event.offsetX + 14, width() - tip.offsetWidth - 4) + 'px';
    tip.style.top = event.offsetY + 16 + 'px';
}

// ---- threads: search, lines

function matches(words) {
    const text = words.trim().toLowerCase();
    if (!text) return [];
    const exact = (key) => meta.threads[key][0] === text || meta.threads[key][0].split('.')[0] === text;
    const found = busy.filter((key) => exact(key) || label(key).toLowerCase().includes(text));
    return found.sort((a, b) => exact(b) - exact(a));
}

function choose(key) {
    chosen = key;
    if (key >= 0 && !pinned.includes(key)) pinned.unshift(key);
    draw();
}

function goTo(key) {
    const begin = data.threadFirst[key], end = data.threadFirst[key + 1];
    if (begin < end) {
        const first = data.threadStart[begin], length = Math.max(data.threadEnd[end - 1] - first, 10);
        show(first - 0.05 * length, Math.min(1.1 * length, Math.max(meta.end, 10)));
    }
    choose(key);
}

function search() {
    const found = matches($('search').value);
    const list = $('found');
    list.replaceChildren();
    for (const key of found.slice(0, 30)) {
        const button = document.createElement('button');
        button.textContent = label(key);
        button.onclick = () => goTo(key);
        const item = document.createElement('li');
        item.append(button);
        list.append(item);
    }
    if (found.length > 30) list.append(`and ${found.length - 30} more`);
    if (!found.length && $('search').value.trim()) list.append('no such thread');
    return found;
}

function click(event) {
    const { cpu, line } = place(event.offsetX, event.offsetY);
    if (line !== undefined) {
        const key = pinned[line];
        pinned.splice(line, 1);
        if (key === chosen) chosen = -1;
        draw();
    } else if (cpu !== undefined) {
        const span = laneAt(cpu, toNs(event.offsetX));
        const key = span < 0 ? -1 : data.cpuKey[span];
        choose(key >= 0 && !meta.threads[key][2] ? key : -1);
    }
}

// ---- the page around it

function fillTables() {
    for (const { title, head, rows, note, keys } of meta.tables) {
        const box = document.createElement('div');
        box.className = 'scroll';
        const table = box.appendChild(document.createElement('table'));
        const first = table.appendChild(document.createElement('thead')).insertRow();
        for (const name of head) first.appendChild(document.createElement('th')).textContent = name;
        const body = table.appendChild(document.createElement('tbody'));
        rows.forEach((cells, at) => {
            const row = body.insertRow();
            for (const cell of cells) row.insertCell().textContent = cell;
            if (keys.length) {
                row.className = 'pick';
                row.onclick = () => { goTo(keys[at]); window.scrollTo(0, 0); };
            }
        });
        const heading = document.createElement('h2');
        heading.textContent = title;
        $('tables').append(heading, box);
        if (note) $('tables').append(Object.assign(document.createElement('p'), { textContent: note, className: 'help' }));
    }
}

function fillControls() {
    for (const text of meta.remarks) $('remarks').append(Object.assign(document.createElement('li'), { textContent: text }));
    for (const [id, [name]] of Object.entries(meta.events)) {
        const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: !QUIET.has(name) });
        if (box.checked) shown.add(Number(id));
        box.onchange = () => { box.checked ? shown.add(Number(id)) : shown.delete(Number(id)); draw(); };
        const line = document.createElement('label');
        line.append(box, ' ' + name);
        $('kinds').append(line);
    }
    for (const state of [2, 1, 3]) {
        const one = document.createElement('span'), box = document.createElement('i');
        box.style.background = STATE_COLOURS[state];
        one.append(box, STATES[state]);
        $('legend').append(one);
    }
}

function listen() {
    let from = null, moved = false;
    canvas.addEventListener('wheel', (event) => {
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.25 : 0.8, toNs(Math.max(LEFT, event.offsetX)));
    }, { passive: false });
    canvas.addEventListener('mousedown', (event) => { from = { x: event.offsetX, first: view.first }; moved = false; });
    canvas.addEventListener('mousemove', (event) => {
        if (from !== null && Math.abs(event.offsetX - from.x) > 3) moved = true;
        if (from !== null && moved) show(from.first - (event.offsetX - from.x) / scale(), view.last - view.first);
        hover(event);
    });
    window.addEventListener('mouseup', () => { from = null; });
    canvas.addEventListener('click', (event) => { if (!moved) click(event); });
    canvas.addEventListener('mouseleave', () => { tip.hidden = true; });
    window.addEventListener('keydown', (event) => {
        if (event.target === $('search')) return;
        const length = view.last - view.first, middle = view.first + length / 2;
        const keys = {
            '+': () => zoom(0.7, middle), '-': () => zoom(1.4, middle), '0': () => show(0, Math.max(meta.end, 10)),
            ArrowLeft: () => show(view.first - length / 8, length), ArrowRight: () => show(view.first + length / 8, length),
        };
        if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
    });
    const middle = () => (view.first + view.last) / 2;
    $('in').onclick = () => zoom(0.5, middle());
    $('out').onclick = () => zoom(2, middle());
    $('all').onclick = () => { chosen = -1; show(0, Math.max(meta.end, 10)); };
    $('search').addEventListener('input', search);
    $('search').addEventListener('keydown', (event) => {
        const found = event.key === 'Enter' ? search() : [];
        if (found.length) goTo(found[0]);
    });
    window.addEventListener('resize', draw);
}

const ready = (async () => {
    fillControls();
    fillTables();
    listen();
    data = await unpack();
    pinned = meta.pinned.slice();
    draw();
    document.body.dataset.ready = 'yes';
})().catch((error) => {
    document.body.dataset.ready = 'no';
    $('range').textContent = 'This page could not be shown: ' + error;
});
