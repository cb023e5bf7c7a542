"use strict";
// Numbers of a text, the same that pipelines/catalogue_site/text_index.py computes: the folded text, its hash, its runs of words.

const WHITE_SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
const spaced = (text) => text.replace(WHITE_SPACE, " ").replace(/^ | $/g, "");

// fold_text_1 of builders/shaping/folding.py, with every final sigma as a sigma: versions of Unicode disagree which one is final.
function foldText(text) {
  const lower = text.replace(/\p{Surrogate}/gu, "\ufffd").normalize("NFKC").toLowerCase();
  const words = spaced(lower.replace(/\p{P}+/gu, " "));
  return (words || spaced(lower)).replaceAll("ς", "σ");
}

// BLAKE2b with a digest of 8 bytes. A number of 64 bits is two of 32, the lower first: with BigInt it is far slower.
const IV = new Uint32Array([
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
]);
const ORDER = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d", "2c6a0b834d75fe19",
  "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0", "0123456789abcdef", "ea489fd61c02b753",
].map((row) => [...row].map((digit) => 2 * parseInt(digit, 16)));
const MIXED = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];
const work = new Uint32Array(32);

function add(to, low, high) {
  const sum = work[to] + low;
  work[to + 1] += high + (sum > 0xffffffff ? 1 : 0);
  work[to] = sum;
}

// work[to] = (work[to] xor work[from]), turned right by so many bits.
function turn(to, from, bits) {
  let [low, high] = [work[to] ^ work[from], work[to + 1] ^ work[from + 1]];
  if (bits >= 32) [low, high, bits] = [high, low, bits - 32];
  work[to] = bits ? (low >>> bits) | (high << (32 - bits)) : low;
  work[to + 1] = bits ? (high >>> bits) | (low << (32 - bits)) : high;
}

function compress(state, block, read, last) {
  work.set(state);
  work.set(IV, 16);
  work[24] ^= read;
  if (last) { work[28] = ~work[28]; work[29] = ~work[29]; }
  for (const order of ORDER) {
    MIXED.forEach(([one, two, three, four], place) => {
      const [a, b, c, d] = [2 * one, 2 * two, 2 * three, 2 * four];
      for (const [word, left, right] of [[order[2 * place], 32, 24], [order[2 * place + 1], 16, 63]]) {
        add(a, work[b], work[b + 1]);
        add(a, block[word], block[word + 1]);
        turn(d, a, left);
        add(c, work[d], work[d + 1]);
        turn(b, c, right);
      }
    });
  }
  for (let index = 0; index < 16; index += 1) state[index] ^= work[index] ^ work[index + 16];
}

// The hash of a text as its higher and its lower half.
function hashText(text) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === 0) return [0, 0];
  const state = IV.slice();
  state[0] ^= 0x01010008;
  const blocks = Math.ceil(bytes.length / 128);
  const padded = new DataView(new ArrayBuffer(blocks * 128));
  new Uint8Array(padded.buffer).set(bytes);
  const block = new Uint32Array(32);
  for (let number = 1; number <= blocks; number += 1) {
    for (let word = 0; word < 32; word += 1) block[word] = padded.getUint32((number - 1) * 128 + word * 4, true);
    compress(state, block, Math.min(number * 128, bytes.length), number === blocks);
  }
  return [state[1], state[0]];
}

// Words from bytes, as pipelines/audit/copies/shingles.py reads them, and runs, as pipelines/decontamination/fingerprints.py does.
const RUN_WORDS = 5;
const WINDOW_RUNS = 4;
const FACTORS = [0x9e3779b97f4a7c15n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n];
const UNUSUAL = /[^\0-\x7f\xa0-\xa7\xa9\xab-\xae\xb0\xb1\xb6\xb7\xbb\xbf-\xff\u0400-\u045f\u2000-\u2016\u2018-\u203d\u203f-\u206f\u20ac\u2116]/;

function symbolsOf(bytes) {
  const symbols = bytes.map((byte) => {
    if (byte >= 0xc0) return 0x40;
    return byte >= 0x80 || /[0-9A-Za-z]/.test(String.fromCharCode(byte)) ? (byte & 0x1f) | 0x20 : 0;
  });
  bytes.forEach((byte, index) => {
    if (byte === 0xd0 && bytes[index + 1] < 0x90) symbols[index + 1] |= 0x10;
    if (byte === 0xc2 || byte === 0xe2) symbols.fill(0, index, index + (byte === 0xc2 ? 2 : 3));
  });
  return symbols;
}

// The number of each word of a folded text, and how many spaces are before it.
function readWords(folded) {
  const bytes = new TextEncoder().encode(UNUSUAL.test(folded) ? foldText(folded) : folded);
  const symbols = symbolsOf(bytes);
  const number = (start, end) => symbols.slice(start, end).reduceRight((sum, symbol) => (sum << 8n) | BigInt(symbol), 0n);
  const words = [];
  let spaces = 0;
  for (let end = 0, start = 0; end <= symbols.length; end += 1) {
    if (symbols[end]) continue;
    if (end > start) {
      const middle = Math.min(start + 8, end);
      words.push({ number: number(start, middle) * FACTORS[1] + number(middle, Math.min(start + 16, end)) * FACTORS[2], token: spaces });
    }
    if (bytes[end] === 0x20) spaces += 1;
    start = end + 1;
  }
  return words;
}

// The runs of a folded text that are the smallest of a window of runs, as [number, spaces before it].
function selectRuns(folded) {
  const words = readWords(folded);
  const runs = words.slice(0, Math.max(0, words.length - RUN_WORDS + 1)).map((word, start) => {
    const sum = BigInt.asUintN(64, words.slice(start, start + RUN_WORDS).reduceRight((total, one) => total * FACTORS[0] + one.number, 0n));
    return [Number(BigInt.asUintN(64, (sum ^ (sum >> 29n)) * FACTORS[2]) >> 32n), word.token];
  });
  const selected = new Set();
  for (let start = 0; start + WINDOW_RUNS <= runs.length; start += 1) {
    const window = runs.slice(start, start + WINDOW_RUNS);
    const least = Math.min(...window.map(([number]) => number));
    window.forEach((run) => { if (run[0] === least) selected.add(run); });
  }
  return [...selected];
}
