package io.fovea.crash;

import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import io.fovea.support.SimDisk;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Changes pages by their layout (docs/reference/file-format.md) and makes their checksums valid, as
 * a bug, faulty memory or an attacker would. Not thread-safe.
 */
final class PageForger {
  static final int PAGE = 4096;
  static final String DB = "db";

  private static final int COUNT = 32;
  private static final int PREFIX = 34;
  private static final int LOW = 36;
  private static final int HIGH = 38;
  private static final int NEXT = 48;
  private static final int LEAF_SLOTS = 64;
  private static final int HEADS = 64;
  private static final int INNER_SLOTS = 128;
  private static final int CHAIN_NEXT = 32;
  private static final int CHAIN_BYTES = 40;
  private static final int CHAIN_INDEX = 44;
  private static final int FREE_NEXT = 32;
  private static final int NONE = 0xFFFF;

  private final SimDisk disk;
  private final long pages;
  private final MemorySegment page = Arena.ofAuto().allocate(PAGE, PAGE);
  private final StringBuilder what;

  /** Whether record contents were changed, so that the right answer is unknown. */
  private boolean contents;

  PageForger(SimDisk disk, StringBuilder what) {
    this.disk = disk;
    this.pages = disk.device(DB).size() / PAGE;
    this.what = what;
  }

  /** Returns whether keys or values were changed: answers may then be wrong undetectably. */
  boolean changedContents() {
    return contents;
  }

  // ------------------------------------------------------------------------------- inspection

  long pages() {
    return pages;
  }

  /** Reads a page into memory. */
  PageForger load(long pid) {
    byte[] bytes = disk.peek(DB, pid * PAGE, PAGE);
    Mem.putBytes(page, 0, bytes, 0, PAGE);
    return this;
  }

  /** Writes the page back, with a valid checksum. */
  void store(long pid) {
    PageHeader.seal(page, 0, PAGE);
    byte[] bytes = new byte[PAGE];
    Mem.getBytes(page, 0, bytes, 0, PAGE);
    disk.poke(DB, pid * PAGE, bytes);
  }

  int type() {
    return PageHeader.type(page, 0);
  }

  int level() {
    return PageHeader.level(page, 0);
  }

  int treeId() {
    return PageHeader.treeId(page, 0);
  }

  int count() {
    return u16(COUNT);
  }

  void setCount(int count) {
    Mem.putShort(page, COUNT, (short) count);
  }

  long child(int i) {
    return Mem.getLong(page, INNER_SLOTS + 16L * i + 8);
  }

  void setChild(int i, long pid) {
    Mem.putLong(page, INNER_SLOTS + 16L * i + 8, pid);
  }

  private int slotAt(int i) {
    return type() == PageHeader.INNER ? INNER_SLOTS + 16 * i : LEAF_SLOTS + 8 * i;
  }

  /** Returns a slot: head (32), offset (16), length of the suffix (16). */
  long slot(int i) {
    return Mem.getLong(page, slotAt(i));
  }

  void setSlot(int i, long slot) {
    Mem.putLong(page, slotAt(i), slot);
  }

  /** Returns whether the value of a leaf entry is in a chain. */
  boolean isLong(int i) {
    return u16(recordAt(i)) == NONE;
  }

  private int recordAt(int i) {
    return (int) (slot(i) >>> 16) & PAGE - 1;
  }

  private int valueAt(int i) {
    return Math.min(PAGE - 16, recordAt(i) + 2 + Math.max(0, ((int) slot(i) & 0xFFFF) - 4));
  }

  void setChainNext(long pid) {
    Mem.putLong(page, CHAIN_NEXT, pid);
  }

  long chainNext() {
    return Mem.getLong(page, CHAIN_NEXT);
  }

  int chainIndex() {
    return Mem.getInt(page, CHAIN_INDEX);
  }

  private int u16(int at) {
    return Mem.getUnsignedShort(page, at);
  }

  /** Returns all pages of a type, and of a level if that is not negative. */
  List<Long> find(int type, int level) {
    List<Long> found = new ArrayList<>();
    for (long pid = 2; pid < pages; pid++) {
      load(pid);
      if (type() == type && (level < 0 || level() == level)) {
        found.add(pid);
      }
    }
    return found;
  }

  // ------------------------------------------------------------------------------------- forging

  private static <T> T any(List<T> list, Random r) {
    return list.get(r.nextInt(list.size()));
  }

  private long number(Random r) {
    return switch (r.nextInt(8)) {
      case 0 -> 0;
      case 1 -> 1;
      case 2 -> -1;
      case 3 -> Long.MAX_VALUE;
      case 4 -> Long.MIN_VALUE | r.nextLong(pages);
      case 5 -> 1L << r.nextInt(63);
      case 6 -> r.nextInt(5000);
      default -> r.nextLong();
    };
  }

  /** Returns an invalid page id, or another page's. */
  private long pid(Random r, long own) {
    return switch (r.nextInt(8)) {
      case 0 -> number(r);
      case 1 -> own;
      case 2 -> pages + r.nextInt(3);
      case 3 -> any(find(type(), level()), r);
      default -> r.nextLong(pages);
    };
  }

  private void set(String field, int at, int bytes, long value) {
    what.append(' ').append(field).append('=').append(value);
    switch (bytes) {
      case 1 -> Mem.putByte(page, at, (byte) value);
      case 2 -> Mem.putShort(page, at, (short) value);
      case 4 -> Mem.putInt(page, at, (int) value);
      default -> Mem.putLong(page, at, value);
    }
  }

  /** Returns another number of 16 bits: a close one, or any. */
  private int near(int value, Random r) {
    return switch (r.nextInt(5)) {
      case 0 -> value + 1;
      case 1 -> value - 1;
      case 2 -> (int) number(r) & 0xFFFF;
      case 3 -> r.nextInt(PAGE);
      default -> value ^ 1 << r.nextInt(13);
    };
  }

  /** Forges a page; each kind of page equally often. */
  void forge(Random r) {
    int kind = r.nextInt(16);
    if (kind == 0) {
      superblocks(r);
      return;
    }
    int type =
        kind < 6
            ? PageHeader.LEAF
            : kind < 11 ? PageHeader.INNER : kind < 14 ? PageHeader.OVERFLOW : PageHeader.FREE;
    List<Long> pids = find(type, -1);
    if (pids.isEmpty()) {
      return;
    }
    // Page 2 is the catalog: forge it more often.
    long pid = type == PageHeader.LEAF && r.nextInt(8) == 0 ? 2 : any(pids, r);
    int at = what.length();
    load(pid);
    what.append(" page ").append(pid).append(" type ").append(type()).append(':');
    int header = r.nextInt(10);
    if (header == 0) {
      header(r, pid);
    } else if (header == 1) {
      contents = true;
      set("byte", 32 + r.nextInt(PAGE - 32), 1, r.nextInt(256));
    } else if (type() == PageHeader.OVERFLOW) {
      chain(r, pid);
    } else if (type() == PageHeader.FREE) {
      set("next", FREE_NEXT, 8, pidKeepingThePage(r, pid));
    } else {
      node(r, pid);
    }
    if (what.length() > at) {
      store(pid);
    }
  }

  /** Calls {@link #pid}, and preserves the loaded page. */
  private long pidKeepingThePage(Random r, long own) {
    byte[] mine = new byte[PAGE];
    Mem.getBytes(page, 0, mine, 0, PAGE);
    long pid = pid(r, own);
    Mem.putBytes(page, 0, mine, 0, PAGE);
    return pid;
  }

  private void header(Random r, long pid) {
    switch (r.nextInt(6)) {
      case 0 -> set("type", PageHeader.TYPE, 1, r.nextInt(7));
      case 1 -> {
        // It tells where values contain a frame number, which is not part of the file.
        contents = true;
        set("layout", PageHeader.LAYOUT, 1, r.nextInt(3));
      }
      case 2 -> set("level", PageHeader.LEVEL, 2, near(level(), r));
      case 3 -> set("pid", PageHeader.PID, 8, pid(r, pid));
      case 4 -> {
        // recovery treats the page as newer
        contents = true;
        set("lsn", PageHeader.PAGE_LSN, 8, number(r));
      }
      default -> set("tree", PageHeader.TREE_ID, 4, r.nextInt(4) == 0 ? number(r) : r.nextInt(12));
    }
  }

  private void chain(Random r, long pid) {
    switch (r.nextInt(4)) {
      case 0 -> set("bytes", CHAIN_BYTES, 4, near(Mem.getInt(page, CHAIN_BYTES), r));
      case 1 -> set("index", CHAIN_INDEX, 4, near(chainIndex(), r));
      default -> set("next", CHAIN_NEXT, 8, pidKeepingThePage(r, pid));
    }
  }

  private void node(Random r, long pid) {
    boolean leaf = type() == PageHeader.LEAF;
    int n = Math.min(count(), leaf ? 500 : 240);
    int i = n == 0 ? 0 : r.nextInt(n);
    switch (r.nextInt(leaf ? 12 : 13)) {
      case 0 -> set("count", COUNT, 2, r.nextBoolean() ? r.nextInt(n + 1) : near(n, r));
      case 1 -> set("prefix", PREFIX, 2, near(u16(PREFIX), r));
      case 2 -> {
        int at = r.nextBoolean() ? LOW : HIGH;
        set("fence", at, 2, r.nextInt(3) == 0 ? NONE : near(u16(at), r));
      }
      case 3 -> {
        int at = 40 + 2 * r.nextInt(4);
        set("heap, dead, last or run @" + at, at, 2, near(u16(at), r));
      }
      case 4 -> {
        if (leaf) {
          set("sibling", NEXT + 8 * r.nextInt(2), 8, pidKeepingThePage(r, pid));
        } else {
          set("sampled head", HEADS + 4 * r.nextInt(16), 4, r.nextInt());
        }
      }
      case 5 -> {
        // fences, at the end of the page
        int at = PAGE - 1 - r.nextInt(40);
        int low = u16(LOW) == NONE ? 0 : u16(LOW);
        int high = u16(HIGH) == NONE ? u16(PREFIX) : u16(HIGH);
        contents |= at < PAGE - low - high;
        set("end @" + at, at, 1, r.nextInt(256));
      }
      case 6 -> {
        contents = true;
        int head = (int) (slot(i) >>> 32);
        int other = r.nextBoolean() ? r.nextInt() : head ^ 1 << r.nextInt(32);
        what.append(" head of slot ").append(i).append('=').append(other);
        setSlot(i, (long) other << 32 | slot(i) & 0xFFFF_FFFFL);
      }
      case 7 -> {
        int length = near((int) slot(i) & 0xFFFF, r) & 0xFFFF;
        what.append(" length of slot ").append(i).append('=').append(length);
        setSlot(i, slot(i) & ~0xFFFFL | length);
      }
      case 8 -> {
        int offset = r.nextInt(3) == 0 && n > 1 ? recordAt(r.nextInt(n)) : near(recordAt(i), r);
        what.append(" offset of slot ").append(i).append('=').append(offset & 0xFFFF);
        setSlot(i, slot(i) & ~0xFFFF_0000L | (offset & 0xFFFFL) << 16);
      }
      case 9 -> {
        int j = n == 0 ? 0 : r.nextInt(n);
        what.append(" slots ").append(i).append(" and ").append(j);
        long slot = slot(i);
        if (r.nextBoolean()) {
          setSlot(i, slot(j));
        }
        setSlot(j, slot);
      }
      default -> {
        if (leaf) {
          value(r, i, pid);
        } else {
          int at = r.nextInt(n + 1);
          long to = r.nextInt(4) == 0 ? child(r.nextInt(n + 1)) : pidKeepingThePage(r, pid);
          what.append(" child ").append(at).append('=').append(to);
          setChild(at, to);
        }
      }
    }
  }

  /** Forges the length of a value, or the stub of a long one. */
  private void value(Random r, int i, long pid) {
    what.append(" slot ").append(i);
    if (!isLong(i)) {
      // a shorter value is a different one
      contents = true;
      set("value length", recordAt(i), 2, r.nextInt(3) == 0 ? NONE : near(u16(recordAt(i)), r));
    } else if (r.nextBoolean()) {
      set("first page", valueAt(i), 8, pidKeepingThePage(r, pid));
    } else {
      long was = Mem.getLong(page, valueAt(i) + 8L);
      long is = r.nextInt(3) == 0 ? number(r) : near((int) was, r);
      set("long length", valueAt(i) + 8, 8, is);
    }
  }

  /** Forges the same field in both superblocks, since the newer one counts. */
  private void superblocks(Random r) {
    contents = true; // where the log begins, for example
    int[] fields = {40, 44, 64, 72, 76, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152};
    int at = fields[r.nextInt(fields.length)];
    int bytes = at == 40 || at == 44 || at == 72 || at == 76 ? 4 : 8;
    long delta = r.nextInt(2) == 0 ? r.nextInt(7) - 3 : number(r);
    what.append(" superblocks @").append(at).append(" +").append(delta);
    for (long pid = 0; pid < 2; pid++) {
      load(pid);
      if (type() == PageHeader.SUPERBLOCK) {
        long was = bytes == 4 ? Mem.getInt(page, at) : Mem.getLong(page, at);
        if (bytes == 4) {
          Mem.putInt(page, at, (int) (was + delta));
        } else {
          Mem.putLong(page, at, was + delta);
        }
        // a superblock's checksum covers its first 4096 bytes, all of this page
        store(pid);
      }
    }
  }
}
