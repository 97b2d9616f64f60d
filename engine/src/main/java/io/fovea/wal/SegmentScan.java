package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The contents of the slots of a log file, according to their headers.
 *
 * <p>Every header contains the slot size. It is taken from slot 0 or, if that header is damaged,
 * from any other header at a multiple of the slot size that it names.
 *
 * <p><b>If the length is not a whole number of slots</b>, the file was cut if its last, partial
 * slot has a header, since a slot gets one after all of it is durable, including the length. A
 * partial slot without a header may be left by a crash while the slot was being made.
 *
 * @param segmentBytes the slot size; 0 if there is no header at all
 * @param slots the number of whole slots
 * @param segments the segments of the database, by number and position, without spares; including
 *     that of a partial slot
 * @param superseded segments that hold nothing and begin after a later one
 * @param spares whole slots that were filled with zeros and not used yet
 * @param unreadable slots without a valid header, including the partial one
 * @param foreign whether there are segments of another database
 * @param cut the length of the last slot of a file that was cut; 0 if it was not
 * @param watermark how far the log was durable according to the trailers
 */
record SegmentScan(
    long segmentBytes,
    int slots,
    List<Found> segments,
    List<Found> superseded,
    List<Integer> spares,
    List<Integer> unreadable,
    boolean foreign,
    long cut,
    Watermark watermark) {
  private static final int CHUNK = 1 << 20;

  static final SegmentScan EMPTY =
      new SegmentScan(0, 0, List.of(), List.of(), List.of(), List.of(), false, 0, Watermark.NONE);

  /** A segment and its slot. */
  record Found(SegmentHeader header, int slot) {
    long offset() {
      return slot * header.segmentBytes();
    }

    long startLsn() {
      return header.startLsn();
    }
  }

  static SegmentScan of(BlockDevice device, UUID database) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      long distance = distance(device, block, arena);
      return distance == 0 ? EMPTY : of(device, database, distance, block);
    }
  }

  private static SegmentScan of(
      BlockDevice device, UUID database, long distance, MemorySegment block) {
    long size = device.size();
    int slots = Math.toIntExact(size / distance);
    long rest = size % distance;
    List<Found> all = new ArrayList<>();
    List<Integer> spares = new ArrayList<>();
    List<Integer> unreadable = new ArrayList<>();
    Watermark watermark = Watermark.NONE;
    boolean foreign = false;
    long cut = 0;
    for (int slot = 0; slot < slots || slot == slots && rest > 0; slot++) {
      boolean valid = slot < slots;
      device.read(slot * distance, block, 0, Group.BLOCK);
      SegmentHeader header = SegmentHeader.parse(block, 0);
      if (header == null || header.segmentBytes() != distance) {
        unreadable.add(slot);
      } else if (!header.database().equals(database)) {
        foreign = true;
      } else {
        cut = valid ? 0 : rest;
        if (header.number() > 0) {
          all.add(new Found(header, slot));
        } else if (valid) {
          spares.add(slot);
        }
      }
      if (valid) {
        device.read((slot + 1) * distance - Group.BLOCK, block, 0, Group.BLOCK);
        Watermark said = Watermark.parse(block, 0, database);
        watermark = said == null ? watermark : watermark.max(said);
      }
    }
    all.sort(Comparator.comparingLong(f -> f.header.number()));
    List<Found> superseded = new ArrayList<>();
    List<Found> segments = supersede(all, superseded);
    return new SegmentScan(
        distance, slots, segments, superseded, spares, unreadable, foreign, cut, watermark);
  }

  /** Returns the highest segment number that is in the file or known to have been there. */
  long lastNumber() {
    return Math.max(lastFound(), watermark.segment());
  }

  /** Returns the highest segment number in the file. */
  long lastFound() {
    long last = 0;
    for (Found found : segments) {
      last = Math.max(last, found.header.number());
    }
    for (Found found : superseded) {
      last = Math.max(last, found.header.number());
    }
    return last;
  }

  long end(int slot, long fileBytes) {
    return Math.min((slot + 1) * segmentBytes, fileBytes + Group.BLOCK - 1 & -Group.BLOCK);
  }

  /**
   * Removes segments that a later opening has superseded. An opening begins a segment at the start
   * of the last groups that it found ({@link TailGroups}). Segments that begin after that had no
   * group: they are left over from a failed write.
   */
  private static List<Found> supersede(List<Found> all, List<Found> superseded) {
    List<Found> segments = new ArrayList<>();
    for (Found next : all) {
      while (!segments.isEmpty() && segments.getLast().startLsn() > next.startLsn()) {
        Found last = segments.removeLast();
        if (last.header.incarnation() >= next.header.incarnation()) {
          throw new CorruptionException(
              "log segment "
                  + next.header.number()
                  + ", which begins before segment "
                  + last.header.number(),
              -1,
              next.offset(),
              last.startLsn(),
              next.startLsn());
        }
        superseded.add(last);
      }
      segments.add(next);
    }
    return segments;
  }

  static long distance(BlockDevice device, MemorySegment block, Arena arena) {
    long size = device.size();
    if (size == 0) {
      return 0;
    }
    device.read(0, block, 0, Group.BLOCK);
    @Nullable SegmentHeader first = SegmentHeader.parse(block, 0);
    if (first != null) {
      return first.segmentBytes();
    }
    MemorySegment chunk = arena.allocate(CHUNK, Group.BLOCK);
    for (long at = 0; at < size; at += CHUNK) {
      int len = (int) Math.min(CHUNK, size - at + Group.BLOCK - 1 & -Group.BLOCK);
      device.read(at, chunk, 0, len);
      for (int off = 0; off < len; off += Group.BLOCK) {
        SegmentHeader header = SegmentHeader.parse(chunk, off);
        if (header != null && (at + off) % header.segmentBytes() == 0) {
          return header.segmentBytes();
        }
      }
    }
    return 0;
  }
}
