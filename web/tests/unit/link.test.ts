// A link holds the state and gives it back; what comes from elsewhere is read with suspicion.
import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fromBase64, toBase64Url } from "../../src/lib/base64";
import { pack, unpack } from "../../src/lib/deflate";
import { decodeLink, encodeLink } from "../../src/lib/link";
import { readState, type LinkState } from "../../src/lib/state";

const bytes = (length: number, value: (k: number) => number) => Uint8Array.from({ length }, (_, k) => value(k));

describe("base64", () => {
  it.each([0, 1, 2, 3, 4, 255, 256, 1000])("%d bytes come back", (length) => {
    const given = bytes(length, (k) => k * 7);
    const text = toBase64Url(given);
    expect(text).toMatch(/^[\w-]*$/);
    expect(fromBase64(text)).toEqual(given);
  });

  it("every byte comes back, from the plain alphabet too", () => {
    const given = bytes(256, (k) => k);
    expect(fromBase64(Buffer.from(given).toString("base64"))).toEqual(given);
  });
});

describe("compression", () => {
  it.each(["gzip", "deflate-raw"] as const)("%s comes back, also of nothing", async (codec) => {
    for (const length of [0, 1, 100_000]) {
      const given = bytes(length, (k) => k % 251);
      expect(await unpack(await pack(given, codec), codec, length)).toEqual(given);
    }
  });

  it("stops at the limit", async () => {
    const packed = await pack(new Uint8Array(1 << 20), "deflate-raw");
    expect(packed.length).toBeLessThan(2000);
    await expect(unpack(packed, "deflate-raw", (1 << 20) - 1)).rejects.toThrow("unpacks to more than 1048575 bytes");
  });
});

const state: LinkState = {
  problem: { title: "naïve 猫 🙂 </script>", tokens: ["", "\u0000", "\u2028"], x: [[0, -1e-300, 1.7976931348623157e308]] },
  step: "S",
  batch: 2,
  head: 1,
  entry: { id: "W_Q", batch: 0, head: 1, row: 3, col: 4 },
  view: "outer",
  mode: "check",
  written: { "S/0/0/1/2": "0.5", "W_O/1/0/0/10": "−3" },
  other: '{"q": [[1]] // the text of a file\n}',
};

describe("a link", () => {
  it("gives the state back", async () => {
    const link = await encodeLink(state);
    expect(link).toMatch(/^#1\.[\w-]+$/);
    expect(readState(await decodeLink(link))).toEqual(state);
  });

  it.each(["", "#"])("that is %j holds none", async (fragment) => expect(await decodeLink(fragment)).toBeNull());

  it.each([
    ["of another kind", "#section-2", "not made by this page"],
    ["of a later version", "#2.AAAA", "not made by this page"],
    ["with odd characters", "#1.a b", "is damaged"],
    ["with nothing in it", "#1.", "damaged or cut short"],
    ["that is no compressed data", "#1.____", "damaged or cut short"],
    ["that is no UTF-8", `#1.${deflateRawSync(Buffer.from([0x22, 0xff, 0x22])).toString("base64url")}`, "damaged or cut short"],
    ["that is no JSON", `#1.${deflateRawSync("{").toString("base64url")}`, "damaged or cut short"],
    ["that unpacks to megabytes", `#1.${deflateRawSync(Buffer.alloc(5 << 20, 32)).toString("base64url")}`, "more than 4194304 bytes"],
  ])("%s is refused", async (_, fragment, message) => {
    await expect(decodeLink(fragment)).rejects.toThrow(message);
  });

  it("cut anywhere is refused or gives back what it can prove, never anything else", async () => {
    const link = await encodeLink(state);
    for (let length = 4; length < link.length; length += 7)
      await expect(decodeLink(link.slice(0, length))).rejects.toThrow("this link is damaged");
  });
});

describe("a state from anywhere", () => {
  const problem = { q: [[1]] };

  it.each([null, 7, "text", [], {}, { problem: null }, { problem: [1] }, { problem: 3 }])("%j holds no problem", (raw) => {
    expect(() => readState(raw)).toThrow("this link holds no problem");
  });

  it("with a problem alone has every default", () => {
    expect(readState({ problem })).toEqual({
      problem, step: "S", batch: 0, head: 0, entry: null, view: null, mode: "explore", written: {}, other: null,
    });
  });

  it("odd fields become their defaults", () => {
    const odd = {
      problem, step: "<img>", batch: -1, head: 1.5, entry: { id: "a/b" }, view: "sideways", mode: ["check"], other: 3,
      written: { "S/0/0/1/2": 5, "../x/0/0/0/0": "1", "S/0/0/1": "1", "S/0/0/1/1": "7" },
    };
    expect(readState(odd)).toEqual({ ...readState({ problem }), written: { "S/0/0/1/1": "7" } });
    for (const index of [NaN, Infinity, 1e300, "2", null, {}]) expect(readState({ problem, batch: index }).batch).toBe(0);
    expect(readState({ problem, entry: { id: "S", row: -3, col: 2 } }).entry).toEqual({ id: "S", batch: 0, head: 0, row: 0, col: 2 });
  });

  it("what was written is cut to what a hand can have written", () => {
    expect(readState({ problem, written: { "S/0/0/0/0": "1".repeat(1000) } }).written["S/0/0/0/0"]).toHaveLength(40);
  });
});
