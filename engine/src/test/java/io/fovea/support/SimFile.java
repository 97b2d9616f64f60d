package io.fovea.support;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one file on a {@link SimDisk}: as programs see them, and as they are on the medium.
 *
 * <pre>
 *   write ──► seen                      what reads return
 *        └──► unsynced: w1 w2 w3 ...    in the order of the writes
 *   sync ───► medium := medium + unsynced, applied in order
 *   failed sync ► doubtful += unsynced  later syncs do not write them again; they do not undo what
 *                                       later syncs write
 *   durable write ► a sync that excludes other durable writes in progress
 *   crash ──► medium + some of doubtful + some of unsynced, torn, reordered
 * </pre>
 *
 * <p>Contents are immutable chunks of 4 KiB, so a clone copies only maps. Guarded by the disk's
 * lock.
 */
final class SimFile {
  static final int SECTOR = 512;
  private static final int CHUNK = 4096;
  private static final byte[] ZEROS = new byte[CHUNK];

  /** A change that may not be on the medium. */
  private sealed interface Change {
    record Write(long offset, byte[] bytes) implements Change {}

    record Resize(long size) implements Change {}
  }

  private static final class Image {
    final Map<Long, byte[]> chunks = new HashMap<>();
    long size;

    Image copy() {
      Image copy = new Image();
      copy.chunks.putAll(chunks);
      copy.size = size;
      return copy;
    }

    void read(long offset, byte[] bytes) {
      for (int done = 0; done < bytes.length; ) {
        long at = offset + done;
        int inChunk = (int) (at % CHUNK);
        int part = Math.min(bytes.length - done, CHUNK - inChunk);
        byte[] chunk = chunks.get(at / CHUNK);
        if (chunk == null) {
          Arrays.fill(bytes, done, done + part, (byte) 0);
        } else {
          System.arraycopy(chunk, inChunk, bytes, done, part);
        }
        done += part;
      }
    }

    void write(long offset, byte[] bytes, int from, int len) {
      for (int done = 0; done < len; ) {
        long at = offset + done;
        int inChunk = (int) (at % CHUNK);
        int part = Math.min(len - done, CHUNK - inChunk);
        byte[] old = chunks.get(at / CHUNK);
        byte[] chunk = old == null ? new byte[CHUNK] : old.clone();
        System.arraycopy(bytes, from + done, chunk, inChunk, part);
        chunks.put(at / CHUNK, chunk);
        done += part;
      }
      size = Math.max(size, offset + len);
    }

    void resize(long bytes) {
      if (bytes < size) {
        chunks.keySet().removeIf(c -> c * CHUNK >= bytes);
        int inChunk = (int) (bytes % CHUNK);
        byte[] last = chunks.get(bytes / CHUNK);
        if (last != null) {
          byte[] cut = new byte[CHUNK];
          System.arraycopy(last, 0, cut, 0, inChunk);
          chunks.put(bytes / CHUNK, cut);
        }
      }
      size = bytes;
    }

    void apply(Change change) {
      switch (change) {
        case Change.Write w -> write(w.offset, w.bytes, 0, w.bytes.length);
        case Change.Resize r -> resize(r.size);
      }
    }
  }

  final String name;
  private Image seen = new Image();
  private Image medium = new Image();
  private final List<Change> unsynced = new ArrayList<>();
  private final List<Change> doubtful = new ArrayList<>();

  /** Chunks that take no space. */
  private final BitSet holes = new BitSet();

  /** The owners of unsynced changes of durable writes in progress. */
  private final Map<Change, Object> owners = new IdentityHashMap<>();

  SimFile(String name) {
    this.name = name;
  }

  long size() {
    return seen.size;
  }

  /** Returns the space that the file takes. */
  long allocated() {
    return seen.size - (long) holes.cardinality() * CHUNK;
  }

  /** Returns the number of bytes of a range that are holes. */
  long holesIn(long offset, int len) {
    int to = (int) ((offset + len + CHUNK - 1) / CHUNK);
    return (long) holes.get((int) (offset / CHUNK), to).cardinality() * CHUNK;
  }

  /** Allocates space for a range of whole chunks. */
  void fill(long offset, int len) {
    holes.clear((int) (offset / CHUNK), (int) ((offset + len + CHUNK - 1) / CHUNK));
  }

  /** Punches a hole; for a crash it counts as a write of zeros. */
  void punch(long offset, int len) {
    write(offset, new byte[len]);
    holes.set((int) (offset / CHUNK), (int) ((offset + len) / CHUNK));
  }

  byte[] read(long offset, int len) {
    byte[] bytes = new byte[len];
    seen.read(offset, bytes);
    return bytes;
  }

  void write(long offset, byte[] bytes) {
    write(offset, bytes, null);
  }

  /** Writes; a durable write has an owner. */
  void write(long offset, byte[] bytes, @Nullable Object owner) {
    Change change = new Change.Write(offset, bytes);
    fill(offset, bytes.length);
    seen.apply(change);
    unsynced.add(change);
    if (owner != null) {
      owners.put(change, owner);
    }
  }

  /** Fails a write: any of its sectors may change. */
  void writeSome(long offset, byte[] bytes, Random random) {
    for (int at = 0; at < bytes.length; at += SECTOR) {
      if (random.nextBoolean()) {
        int len = Math.min(SECTOR, bytes.length - at);
        write(offset + at, Arrays.copyOfRange(bytes, at, at + len));
      }
    }
  }

  void resize(long bytes) {
    Change change = new Change.Resize(bytes);
    int chunks = (int) ((bytes + CHUNK - 1) / CHUNK);
    holes.clear(chunks, Math.max(chunks, holes.length()));
    seen.apply(change);
    unsynced.add(change);
  }

  void sync() {
    sync(null);
  }

  /** Syncs all changes, or those that a durable write needs. */
  void sync(@Nullable Object owner) {
    List<Change> left = leaveOut(owner);
    if (!doubtful.isEmpty()) {
      settle();
    }
    unsynced.forEach(medium::apply);
    unsynced.clear();
    unsynced.addAll(left);
  }

  /** Removes the changes of other durable writes in progress. */
  private List<Change> leaveOut(@Nullable Object owner) {
    List<Change> left = new ArrayList<>();
    if (owner == null) {
      owners.clear();
    } else {
      unsynced.removeIf(
          c -> {
            Object other = owners.get(c);
            return other != null && other != owner && left.add(c);
          });
      owners.values().removeIf(o -> o == owner);
    }
    return left;
  }

  /**
   * Drops doubtful changes that later, synced writes cover. Lengths are journaled: a durable one
   * makes all earlier ones durable.
   */
  private void settle() {
    for (Change later : unsynced) {
      List<Change> left = new ArrayList<>();
      for (Change change : doubtful) {
        if (change instanceof Change.Write w) {
          if (later instanceof Change.Write l) {
            without(w, l, left);
          } else {
            left.add(w);
          }
        } else if (later instanceof Change.Resize) {
          medium.apply(change);
        } else {
          left.add(change);
        }
      }
      doubtful.clear();
      doubtful.addAll(left);
    }
  }

  /** Returns the parts of a write that another does not cover. */
  private static void without(Change.Write write, Change.Write other, List<Change> left) {
    long end = write.offset + write.bytes.length;
    long from = Math.max(write.offset, other.offset);
    long to = Math.min(end, other.offset + other.bytes.length);
    if (from >= to) {
      left.add(write);
      return;
    }
    if (write.offset < from) {
      byte[] before = Arrays.copyOf(write.bytes, (int) (from - write.offset));
      left.add(new Change.Write(write.offset, before));
    }
    if (to < end) {
      int skip = (int) (to - write.offset);
      left.add(new Change.Write(to, Arrays.copyOfRange(write.bytes, skip, write.bytes.length)));
    }
  }

  void failSync(@Nullable Object owner) {
    List<Change> left = leaveOut(owner);
    doubtful.addAll(unsynced);
    unsynced.clear();
    unsynced.addAll(left);
  }

  int unsyncedChanges() {
    return unsynced.size() + doubtful.size();
  }

  /** Changes bytes on the medium and as programs see them, without an operation. */
  void poke(long offset, byte[] bytes) {
    seen.write(offset, bytes, 0, bytes.length);
    medium.write(offset, bytes, 0, bytes.length);
  }

  /** Returns a hash of length and bytes; unwritten zeros equal written ones. */
  long fingerprint() {
    long sum = seen.size * 0xD6E8FEB86659FD93L;
    CRC32C crc = new CRC32C();
    for (Map.Entry<Long, byte[]> e : seen.chunks.entrySet()) {
      byte[] chunk = e.getValue();
      if (Arrays.mismatch(chunk, ZEROS) < 0) {
        continue;
      }
      crc.reset();
      crc.update(chunk, 0, CHUNK);
      long h = crc.getValue() << 32 ^ Arrays.hashCode(chunk) ^ e.getKey() * 0x9E3779B97F4A7C15L;
      h = (h ^ h >>> 31) * 0xBF58476D1CE4E5B9L;
      sum += h ^ h >>> 29;
    }
    return sum;
  }

  /** Returns the present file, for another disk. */
  SimFile copy() {
    SimFile copy = new SimFile(name);
    copy.seen = seen.copy();
    copy.medium = medium.copy();
    copy.holes.or(holes);
    copy.unsynced.addAll(unsynced);
    copy.doubtful.addAll(doubtful);
    return copy;
  }

  /** Returns the file after a power failure. */
  SimFile crash(SimCrash how, Random random) {
    List<Change> changes = new ArrayList<>(doubtful);
    changes.addAll(unsynced);
    changes.removeIf(c -> random.nextDouble() >= how.keep());
    if (how.reorder()) {
      shuffle(changes, random);
    }
    SimFile after = new SimFile(name);
    after.medium = medium.copy();
    for (Change change : changes) {
      if (how.tear() && change instanceof Change.Write w) {
        tear(after.medium, w, random);
      } else {
        after.medium.apply(change);
      }
    }
    after.seen = after.medium.copy();
    after.keepHoles(holes);
    return after;
  }

  /**
   * Returns the file after a power failure with chosen survivors; its changes start at a number.
   */
  SimFile crash(SimChoice how, int first) {
    SimFile after = new SimFile(name);
    after.medium = medium.copy();
    int i = first;
    for (List<Change> changes : List.of(doubtful, unsynced)) {
      for (Change change : changes) {
        SimChoice.Part part = how.of(i++);
        if (part == SimChoice.Part.ALL) {
          after.medium.apply(change);
        } else if (part != SimChoice.Part.NOTHING && change instanceof Change.Write w) {
          int half = (w.bytes.length / SECTOR + 1) / 2 * SECTOR;
          int from = part == SimChoice.Part.FIRST_HALF ? 0 : half;
          int to = part == SimChoice.Part.FIRST_HALF ? half : w.bytes.length;
          after.medium.write(w.offset + from, w.bytes, from, to - from);
        }
      }
    }
    after.seen = after.medium.copy();
    after.keepHoles(holes);
    return after;
  }

  /** Turns chunks of zeros that were holes before the crash into holes again. */
  private void keepHoles(BitSet before) {
    holes.or(before);
    for (int c = holes.nextSetBit(0); c >= 0; c = holes.nextSetBit(c + 1)) {
      byte[] chunk = seen.chunks.get((long) c);
      boolean zeros = chunk == null || Arrays.equals(chunk, ZEROS);
      if (!zeros || (c + 1L) * CHUNK > seen.size) {
        holes.clear(c);
      }
    }
  }

  /** Shuffles writes between resizes, which are journaled and keep their order. */
  private static void shuffle(List<Change> changes, Random random) {
    int from = 0;
    for (int i = 0; i <= changes.size(); i++) {
      if (i == changes.size() || changes.get(i) instanceof Change.Resize) {
        Collections.shuffle(changes.subList(from, i), random);
        from = i + 1;
      }
    }
  }

  /** Applies all of a write, its beginning, its end, or some of its sectors. */
  private static void tear(Image image, Change.Write write, Random random) {
    int sectors = (write.bytes.length + SECTOR - 1) / SECTOR;
    int kind = random.nextInt(4);
    int cut = random.nextInt(sectors + 1);
    for (int s = 0; s < sectors; s++) {
      boolean kept =
          switch (kind) {
            case 0 -> true;
            case 1 -> s < cut;
            case 2 -> s >= cut;
            default -> random.nextBoolean();
          };
      if (kept) {
        int from = s * SECTOR;
        image.write(
            write.offset + from, write.bytes, from, Math.min(SECTOR, write.bytes.length - from));
      }
    }
  }
}
