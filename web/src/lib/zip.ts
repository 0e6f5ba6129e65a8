// A zip file with deflated members (a .npz saved by savez_compressed) rewritten with stored ones.
// The engine is built without an inflater, because the browser has one. Nothing else is judged here:
// whatever is not understood goes on as it came, and the core says what is wrong with it. The
// checksums are copied, so that it still notices damage.
import { unpack } from "./deflate";

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LOCAL_SIZE = 30;
const CENTRAL_SIZE = 46;
const END_SIZE = 22;
const LONGEST_COMMENT = 0xffff;
const VERSION = 20; // of the format, needed by who reads it
const STORED = 0;
const DEFLATED = 8;

interface Member {
  name: Uint8Array<ArrayBuffer>;
  method: number;
  crc: number;
  packed: Uint8Array<ArrayBuffer>;
  size: number; // once inflated
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function endOf(view: DataView): number {
  const last = view.byteLength - END_SIZE;
  for (let at = last; at >= Math.max(0, last - LONGEST_COMMENT); at--) if (view.getUint32(at, true) === END) return at;
  return -1;
}

// Throws a RangeError where the file says something that is not there.
function membersOf(bytes: Uint8Array<ArrayBuffer>): Member[] {
  const view = viewOf(bytes);
  const end = endOf(view);
  if (end < 0) return [];
  const members: Member[] = [];
  let at = view.getUint32(end + 16, true);
  for (let k = view.getUint16(end + 10, true); k > 0; k--) {
    if (view.getUint32(at, true) !== CENTRAL) return [];
    const nameLength = view.getUint16(at + 28, true);
    const local = view.getUint32(at + 42, true);
    if (view.getUint32(local, true) !== LOCAL) return [];
    const data = local + LOCAL_SIZE + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    members.push({
      name: bytes.slice(at + CENTRAL_SIZE, at + CENTRAL_SIZE + nameLength),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      packed: bytes.slice(data, data + view.getUint32(at + 20, true)),
      size: view.getUint32(at + 24, true),
    });
    at += CENTRAL_SIZE + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return members;
}

// The fields that a member's own header and the directory's entry have in common.
function writeFields(view: DataView, at: number, { name, crc, size }: Member): void {
  view.setUint16(at, VERSION, true);
  view.setUint32(at + 10, crc, true);
  view.setUint32(at + 14, size, true);
  view.setUint32(at + 18, size, true);
  view.setUint16(at + 22, name.length, true);
}

function zipOf(members: Member[]): Uint8Array<ArrayBuffer> {
  const sum = (f: (member: Member) => number) => members.reduce((total, member) => total + f(member), 0);
  const directory = sum(({ name, size }) => LOCAL_SIZE + name.length + size);
  const directorySize = sum(({ name }) => CENTRAL_SIZE + name.length);
  const bytes = new Uint8Array(directory + directorySize + END_SIZE);
  const view = viewOf(bytes);
  let local = 0;
  let central = directory;
  for (const member of members) {
    const { name, packed } = member;
    view.setUint32(local, LOCAL, true);
    writeFields(view, local + 4, member);
    bytes.set(name, local + LOCAL_SIZE);
    bytes.set(packed, local + LOCAL_SIZE + name.length);
    view.setUint32(central, CENTRAL, true);
    view.setUint16(central + 4, VERSION, true);
    writeFields(view, central + 6, member);
    view.setUint32(central + 42, local, true);
    bytes.set(name, central + CENTRAL_SIZE);
    local += LOCAL_SIZE + name.length + packed.length;
    central += CENTRAL_SIZE + name.length;
  }
  view.setUint32(central, END, true);
  view.setUint16(central + 8, members.length, true);
  view.setUint16(central + 10, members.length, true);
  view.setUint32(central + 12, directorySize, true);
  view.setUint32(central + 16, directory, true);
  return bytes;
}

function understood(bytes: Uint8Array<ArrayBuffer>): Member[] {
  try {
    return membersOf(bytes);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

export async function inflateZip(bytes: Uint8Array<ArrayBuffer>, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const members = understood(bytes);
  if (!members.some(({ method }) => method === DEFLATED)) return bytes;
  if (members.some(({ method }) => method !== STORED && method !== DEFLATED)) return bytes;
  let room = limit;
  for (const member of members) {
    if (member.method === DEFLATED) member.packed = await unpack(member.packed, "deflate-raw", room);
    if (member.packed.length !== member.size)
      throw new Error(`a member says ${member.size} bytes but holds ${member.packed.length}`);
    room -= member.size;
    if (room < 0) throw new Error(`unpacks to more than ${limit} bytes`);
  }
  return zipOf(members);
}
