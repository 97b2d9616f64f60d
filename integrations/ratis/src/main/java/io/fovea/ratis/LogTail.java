package io.fovea.ratis;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Repairs the end of Ratis' log, {@code log_inprogress_}<i>index</i>, if its last entry was written
 * only partly.
 *
 * <p>A full disk, a kill (Linux checks for one between two pages) or a power loss can end a write
 * in the middle. Ratis ignores an entry that is cut off by the end of the file. But it preallocates
 * the file with zeros, so zeros follow the partial entry. Ratis reads that as a wrong checksum, and
 * the peer could not restart (3.3.0, {@code SegmentedRaftLogReader.decodeEntry}).
 *
 * <p><b>What may be dropped.</b> Only bytes that were never synced: anything else may have been
 * counted for a majority. Ratis syncs after the whole write, so a partly written entry was not
 * synced ({@link SerialAppends} acknowledges only synced entries). An entry is dropped if its
 * checksum is missing, or only a correct prefix of the checksum is present, and nothing but zeros
 * follows. If exactly one byte of the checksum is missing, that byte is written instead: the entry
 * may be a synced one with a flipped bit, and keeping an unacknowledged entry is always correct.
 *
 * <p>An entry that was complete and was damaged later has a wrong checksum, or a length that
 * contradicts its content. It is kept, as is everything with data after it, such as pages of one
 * write that reached the disk out of order before a power loss. Ratis refuses that file, and the
 * operator makes the peer fetch a copy.
 *
 * <p>This assumes that a disk keeps synced data even if the sector is written again. A disk that
 * loses its last sector leaves the same bytes as an interrupted write.
 *
 * <p>An entry is its length as a varint, its bytes, and the CRC-32C of both in four bytes,
 * big-endian. Eight bytes that name the format precede the first entry.
 */
final class LogTail {
  private static final System.Logger LOG = System.getLogger("io.fovea.ratis");
  private static final byte[] HEADER = "RaftLog1".getBytes(StandardCharsets.US_ASCII);
  private static final int CHECKSUM_BYTES = 4;

  /** The longest varint that encodes a length, in bytes. */
  private static final int VARINT_BYTES = 5;

  private static final ValueLayout.OfInt CHECKSUM =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  /** Types of protobuf fields, in the lowest bits of a tag. */
  private static final int WIRE_TYPES = 7;

  private static final int NUMBER = 0;
  private static final int BYTES = 2;

  /**
   * An entry that was written partly.
   *
   * @param at where it begins
   * @param checksum where its checksum begins
   * @param right the correct checksum, if everything before it is present
   * @param complete whether only one byte of the checksum is missing
   * @param written where the zeros at the end of the file begin
   */
  private record Part(long at, long checksum, int right, boolean complete, long written) {
    static Part dropped(long at, long written) {
      return new Part(at, 0, 0, false, written);
    }
  }

  private LogTail() {}

  /**
   * Repairs the end of the log if necessary. Must run before Ratis reads it.
   *
   * @param log Ratis' directory
   * @return whether the last entry had been written partly
   * @throws IOException if a file can't be read or written, or is damaged
   */
  static boolean mend(Path log, UUID group, String self) throws IOException {
    Path directory = log.resolve(group.toString()).resolve("current");
    boolean mended = false;
    try (DirectoryStream<Path> open = Files.newDirectoryStream(directory, "log_inprogress_*")) {
      for (Path file : open) {
        mended |= mend(file, self);
      }
    } catch (NoSuchFileException e) {
      return false; // a new peer
    }
    return mended;
  }

  private static boolean mend(Path file, String self) throws IOException {
    try (FileChannel f =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      Part part;
      try (Arena arena = Arena.ofConfined()) {
        part = last(f.map(FileChannel.MapMode.READ_ONLY, 0, f.size(), arena));
      }
      if (part == null) {
        return false;
      }
      if (part.complete()) {
        f.write(ByteBuffer.allocate(CHECKSUM_BYTES).putInt(0, part.right()), part.checksum());
      } else {
        f.truncate(part.at());
      }
      f.force(true);
      LOG.log(
          System.Logger.Level.WARNING,
          "The last entry of the log of peer "
              + self
              + " was written only partly: "
              + file
              + ", bytes "
              + part.at()
              + " to "
              + part.written()
              + ". "
              + (part.complete()
                  ? "Its checksum was completed."
                  : "It was dropped; the peer never acknowledged it."));
      return true;
    }
  }

  /** Returns the last entry if it was written partly and nothing follows it; otherwise null. */
  private static @Nullable Part last(MemorySegment bytes) throws IOException {
    long written = bytes.byteSize();
    while (written > 0 && bytes.get(ValueLayout.JAVA_BYTE, written - 1) == 0) {
      written--;
    }
    if (written < HEADER.length
        || bytes.asSlice(0, HEADER.length).mismatch(MemorySegment.ofArray(HEADER)) >= 0) {
      return null;
    }
    CRC32C crc = new CRC32C();
    long at = HEADER.length;
    while (at < written) {
      Varint length = Varint.at(bytes, at, bytes.byteSize());
      if (length == null) {
        // The end of the file cuts the length itself, which Ratis refuses.
        return bytes.byteSize() - at < VARINT_BYTES ? Part.dropped(at, written) : null;
      }
      long most = bytes.byteSize() - length.end - CHECKSUM_BYTES;
      if (length.value < 0 || length.value > most) {
        // Ratis ignores an entry cut off by the end of the file. But it would misread a cut length,
        // and drop everything after a damaged one.
        if (written <= length.end) {
          return Part.dropped(at, written);
        }
        if (!isAsLong(bytes, length.end, written, length.end + length.value)) {
          throw new IOException(
              "The log is damaged at byte "
                  + at
                  + ": the length of an entry contradicts its content.");
        }
        return null;
      }
      long checksum = length.end + length.value;
      crc.reset();
      crc.update(bytes.asSlice(at, checksum - at).asByteBuffer());
      int right = (int) crc.getValue();
      int there = bytes.get(CHECKSUM, checksum);
      if (there != right) {
        long bytesThere = Math.max(0, written - checksum);
        return isBeginning(there, right, bytesThere)
                && isAsLong(bytes, length.end, written, checksum)
            ? new Part(at, checksum, right, bytesThere > 0 && isOneByte(there ^ right), written)
            : null;
      }
      at = checksum + CHECKSUM_BYTES;
    }
    return null;
  }

  /** Returns whether {@code there} holds only a prefix of the checksum, which may be empty. */
  private static boolean isBeginning(int there, int right, long bytes) {
    if (bytes == 0 || bytes >= CHECKSUM_BYTES) {
      return bytes == 0;
    }
    int shift = (int) (Byte.SIZE * (CHECKSUM_BYTES - bytes));
    return there >>> shift == right >>> shift;
  }

  private static boolean isOneByte(int bits) {
    return Integer.numberOfLeadingZeros(bits) / Byte.SIZE
        == (Integer.SIZE - 1 - Integer.numberOfTrailingZeros(bits)) / Byte.SIZE;
  }

  /**
   * Returns whether the content of an entry agrees with the length before it. Otherwise that length
   * is damaged, and complete entries may follow. An entry is a protobuf of term, index and one
   * bytes field, which ends it ({@code LogEntryProto}).
   *
   * @param at where the entry begins, after its length
   * @param written the end of what was written; missing bytes contradict nothing
   * @param end where the entry ends according to its length
   */
  private static boolean isAsLong(MemorySegment bytes, long at, long written, long end) {
    while (true) {
      Varint tag = Varint.at(bytes, at, written);
      Varint value = tag == null ? null : Varint.at(bytes, tag.end, written);
      if (value == null) {
        return true;
      }
      at = value.end;
      switch ((int) tag.value & WIRE_TYPES) {
        case NUMBER -> {}
        case BYTES -> {
          return value.end + value.value == end;
        }
        default -> {
          return false;
        }
      }
    }
  }

  /**
   * A protobuf varint: seven bits per byte, lowest first; the eighth bit says that another byte
   * follows.
   *
   * @param end the position after it
   */
  private record Varint(long value, long end) {
    /** Reads the varint at a position; null if it does not end before the limit. */
    static @Nullable Varint at(MemorySegment bytes, long at, long limit) {
      long value = 0;
      for (int shift = 0; at < limit; shift += 7) {
        byte b = bytes.get(ValueLayout.JAVA_BYTE, at++);
        value |= (b & 0x7FL) << shift;
        if (b >= 0) {
          return new Varint(value, at);
        }
      }
      return null;
    }
  }
}
