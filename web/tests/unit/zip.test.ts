// Compressed .npz files are unpacked before the engine sees them; nothing else is touched.
import { describe, expect, it } from "vitest";
import { inflateZip } from "../../src/lib/zip";
import { npy, npz } from "../support/arrays";

const array = npy(40, 8, (i, j) => i - j);
const members = { q: array, "名前": npy(1, 1, () => 1) };
const given = (buffer: Buffer) => Uint8Array.from(buffer);
const LIMIT = 1 << 20;

const deflated = () => given(npz(members, { deflated: true }));

it("a deflated file becomes the stored one, byte for byte", async () => {
  expect(Buffer.from(await inflateZip(deflated(), LIMIT))).toEqual(npz(members));
});

it("a comment at the end of the file does not hide it", async () => {
  const zip = npz(members, { deflated: true });
  const comment = Buffer.from("made by hand");
  zip.writeUInt16LE(comment.length, zip.length - 2);
  expect(Buffer.from(await inflateZip(given(Buffer.concat([zip, comment])), LIMIT))).toEqual(npz(members));
});

describe("goes on as it came", () => {
  it.each([
    ["nothing", Buffer.alloc(0)],
    ["a single byte", Buffer.from("P")],
    ["an .npy file", array],
    ["a text", Buffer.from("hello")],
    ["a stored .npz", npz(members)],
    ["an empty .npz", npz({})],
    ["half a file", npz(members, { deflated: true }).subarray(0, 200)],
    ["the end of a file without its beginning", npz(members, { deflated: true }).subarray(-22)],
  ])("%s", async (_, buffer) => {
    const bytes = given(buffer);
    expect(await inflateZip(bytes, LIMIT)).toBe(bytes);
  });

  it("a way of compressing that is not known", async () => {
    const bytes = deflated();
    const view = new DataView(bytes.buffer);
    const directory = view.getUint32(bytes.length - 6, true);
    view.setUint16(directory + 10, 12, true); // bzip2
    expect(await inflateZip(bytes, LIMIT)).toBe(bytes);
  });
});

describe("is refused", () => {
  it("what unpacks to more than the limit", async () => {
    await expect(inflateZip(deflated(), array.length - 1)).rejects.toThrow(/more than \d+ bytes/);
  });

  it("a member that says another size than it has", async () => {
    const bytes = deflated();
    const view = new DataView(bytes.buffer);
    const directory = view.getUint32(bytes.length - 6, true);
    view.setUint32(directory + 24, array.length + 1, true);
    await expect(inflateZip(bytes, LIMIT)).rejects.toThrow(`a member says ${array.length + 1} bytes but holds ${array.length}`);
  });

  it("damaged compressed data", async () => {
    const bytes = deflated();
    bytes.fill(0xff, 40, 60);
    await expect(inflateZip(bytes, LIMIT)).rejects.toThrow();
  });
});
