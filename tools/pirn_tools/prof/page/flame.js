// SPDX-License-Identifier: MIT
// Behaviour of a flame graph in a browser. MARGIN, LETTER and WIDTH are defined before.
'use strict';

const $ = (id) => document.getElementById(id);
const boxes = [...document.querySelectorAll('.f')].map((group) => {
    const [title, rect, text] = group.children;
    const label = title.textContent;
    return {
        group, rect, text, label,
        name: label.slice(0, label.lastIndexOf(' - ', label.search(/ - [\d,.]+ (samples|calls|s) \(/) + 1)),
        x: +group.dataset.x, w: +group.dataset.w, level: +group.dataset.l,
    };
});
const TINY = 1e-8; // rounding of the shares

let shown = { x: 0, w: 1, level: -1 };

function label(box, width) {
    const letters = Math.floor((width - 5) / LETTER);
    if (letters < 3) return '';
    return box.name.length <= letters ? box.name : box.name.slice(0, letters - 2) + '..';
}

function place(box) {
    const scale = (WIDTH - 2 * MARGIN) / shown.w;
    const parent = box.level < shown.level;
    const first = Math.max(box.x, parent ? shown.x : box.x);
    const last = Math.min(box.x + box.w, parent ? shown.x + shown.w : box.x + box.w);
    const outside = parent
        ? box.x > shown.x + TINY || box.x + box.w < shown.x + shown.w - TINY
        : box.x < shown.x - TINY || box.x + box.w > shown.x + shown.w + TINY;
    const width = (last - first) * scale;
    box.group.classList.toggle('gone', outside || width < 0.1);
    box.group.classList.toggle('parent', parent);
    box.rect.setAttribute('x', MARGIN + (first - shown.x) * scale);
    box.rect.setAttribute('width', Math.max(0, width));
    box.text.setAttribute('x', MARGIN + (first - shown.x) * scale + 3);
    box.text.textContent = label(box, width);
}

function zoom(box) {
    shown = box;
    boxes.forEach(place);
    $('all').style.display = box.w < 1 - TINY ? '' : 'none';
}

function find(words) {
    let wanted = null;
    try {
        wanted = words ? new RegExp(words, 'i') : null;
    } catch (error) {
        $('matched').textContent = 'not a regular expression: ' + words;
        return;
    }
    const found = boxes.filter((box) => {
        const is = wanted !== null && wanted.test(box.name);
        box.group.classList.toggle('found', is);
        return is;
    });
    // Of boxes in each other the lowest counts.
    let share = 0, end = 0;
    for (const box of found.sort((a, b) => a.x - b.x || a.level - b.level)) {
        if (box.x + TINY < end) continue;
        share += box.w;
        end = box.x + box.w;
    }
    $('matched').textContent = wanted === null ? '' : 'found: ' + (100 * share).toFixed(2) + '%';
}

for (const box of boxes) {
    box.group.addEventListener('click', () => zoom(box));
    box.group.addEventListener('mouseover', () => { $('details').textContent = box.label; });
    box.group.addEventListener('mouseout', () => { $('details').textContent = ''; });
}
$('all').addEventListener('click', () => zoom({ x: 0, w: 1, level: -1 }));
$('search').addEventListener('input', () => find($('search').value));
