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
 * What the slots of a log file hold, by their headers.
 *
 * <p>The distance of slots is in every header. Slot 0 has one; if that is damaged, any other will
 * do that stands where its own distance says.
 *
 * @param segmentBytes the distance of slots; 0 where there is no header at all
 * @param slots how many whole slots the file has
 * @param segments the segments of the database, by number and position; no spares
 * @param superseded segments that hold nothing, and begin behind a later one
 * @param spares slots that were filled with zeros and not used yet
 * @param unreadable slots without a valid header
 * @param foreign whether there are segments of another database
 */
record SegmentScan(
    long segmentBytes,
    int slots,
    List<Found> segments,
    List<Found> superseded,
    List<Integer> spares,
    List<Integer> unreadable,
    boolean foreign) {
  private static final int CHUNK = 1 << 20;

  /** A segment and where it lies. */
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
      MemorySegment block = arena.allocate(CHUNK, Group.BLOCK);
      long distance = distance(device, block);
      if (distance == 0) {
        return new SegmentScan(0, 0, List.of(), List.of(), List.of(), List.of(), false);
      }
      int slots = Math.toIntExact(device.size() / distance);
      List<Found> segments = new ArrayList<>();
      List<Integer> spares = new ArrayList<>();
      List<Integer> unreadable = new ArrayList<>();
      boolean foreign = false;
      for (int slot = 0; slot < slots; slot++) {
        device.read(slot * distance, block, 0, Group.BLOCK);
        SegmentHeader header = SegmentHeader.parse(block, 0);
        if (header == null || header.segmentBytes() != distance) {
          unreadable.add(slot);
        } else if (!header.database().equals(database)) {
          foreign = true;
        } else if (header.number() == 0) {
          spares.add(slot);
        } else {
          segments.add(new Found(header, slot));
        }
      }
      segments.sort(Comparator.comparingLong(f -> f.header.number()));
      List<Found> valid = supersede(segments);
      List<Found> superseded = new ArrayList<>(segments);
      superseded.removeAll(valid);
      return new SegmentScan(distance, slots, valid, superseded, spares, unreadable, foreign);
    }
  }

  /**
   * Takes out what a later opening has superseded. An opening begins a segment at the start of the
   * last group that it found ({@link LastGroup}). Segments that begin behind that had no group:
   * they are what is left of a write that failed.
   */
  private static List<Found> supersede(List<Found> all) {
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
      }
      segments.add(next);
    }
    return segments;
  }

  private static long distance(BlockDevice device, MemorySegment chunk) {
    long size = device.size() & -Group.BLOCK;
    if (size == 0) {
      return 0;
    }
    device.read(0, chunk, 0, Group.BLOCK);
    @Nullable SegmentHeader first = SegmentHeader.parse(chunk, 0);
    if (first != null) {
      return first.segmentBytes();
    }
    for (long at = 0; at < size; at += CHUNK) {
      int len = (int) Math.min(CHUNK, size - at);
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
