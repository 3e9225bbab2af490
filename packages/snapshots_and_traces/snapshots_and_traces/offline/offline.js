"use strict"
// Unpacks what columns.py packed, and puts texts on the page: never as HTML.

let words, bytes
const $ = id => document.getElementById(id)
const count = number => number.toLocaleString("en")

function put(parent, tag, text = "", more = {}) {
    const element = Object.assign(document.createElement(tag), more)
    element.append(text)
    parent.append(element)
    return element
}

async function unpack() {
    const letters = atob($("data").textContent), packed = new Uint8Array(letters.length)
    for (let i = 0; i < packed.length; i++) packed[i] = letters.charCodeAt(i)
    const flow = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))
    const whole = await new Response(flow).arrayBuffer()
    const length = new DataView(whole).getUint32(0, true)
    words = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)))
    bytes = new Uint8Array(whole, 4 + length)
}

function column([at, width, length]) {
    const numbers = width > 4 ? new Float64Array(length) : new Uint32Array(length)
    for (let plane = 0, unit = 1; plane < width; plane++, unit *= 256) {
        const from = at + plane * length
        for (let i = 0; i < length; i++) numbers[i] += bytes[from + i] * unit
    }
    return numbers
}

// An object of columns, each unpacked.
const columns = packed => Object.fromEntries(
    Object.entries(packed).map(([name, place]) => [name, column(place)]))

// A colour of offline.css, as the reader prefers light or dark; `redraw` when that changes.
const tint = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
const onTheme = redraw =>
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw)

function running(numbers) {
    for (let i = 1; i < numbers.length; i++) numbers[i] += numbers[i - 1]
    return numbers
}

// A canvas as large as its place, emptied, and its pen in units of the page's pixels.
function canvasOf(id) {
    const box = $(id).getBoundingClientRect(), ratio = window.devicePixelRatio || 1
    Object.assign($(id), { width: box.width * ratio, height: box.height * ratio })
    const pen = $(id).getContext("2d")
    pen.scale(ratio, ratio)
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif"
    return { pen, width: box.width, height: box.height }
}

// The next of 1, 2, 5, 10, … from a number on: what lies between two marks of an axis.
function round(raw) {
    const ten = 10 ** Math.floor(Math.log10(raw))
    return ten * [1, 2, 5, 10].find(times => times * ten >= raw)
}

// Lines beside the pointer; none of them hides the box.
function tip(event, lines) {
    const box = $("tip")
    box.hidden = !lines
    box.textContent = lines?.join("\n")
    box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`
    box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`
}

