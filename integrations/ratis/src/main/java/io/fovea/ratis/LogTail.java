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
 * The end of Ratis' log, {@code log_inprogress_}<i>index</i>, mended where its last entry was
 * written in part.
 *
 * <p>A write is ended in its middle by a full disk, by a kill (Linux looks for one between two
 * pages), and by a loss of power. Ratis ignores an entry that is cut by the end of the file. But it
 * fills its file with zeros ahead of need, so there are zeros behind a part of an entry; that is a
 * wrong checksum, and the peer could not be started again (3.3.0, {@code
 * SegmentedRaftLogReader.decodeEntry}).
 *
 * <p><b>What may be dropped.</b> Only what was never synced, since all else may have been counted
 * for a majority. Ratis syncs behind the whole write, so an entry that was written in part has not
 * been synced ({@link SerialAppends} acknowledges nothing else). Where its checksum is not there,
 * or a right part of it is, with nothing but zeros behind, it is dropped. But where one byte of the
 * checksum is all that is missing, that is written instead: a bit of a synced entry may have turned
 * over, and to keep an entry that nobody asked about is never wrong.
 *
 * <p>An entry that was whole once, and was damaged since, has a checksum that is there and wrong,
 * or a length that is not the one that the entry says of itself. It stays, as does everything that
 * has something behind it, such as pages of one write that reached the disk in another order before
 * the power was lost. Ratis refuses that file, and an operator lets the peer take a copy.
 *
 * <p>This takes for granted that a disk keeps what was synced, also in a sector that is written
 * again. One that loses its last sector leaves the same bytes as a write that was cut.
 *
 * <p>An entry is its length as a varint, its bytes, and four bytes of CRC-32C of both, the highest
 * first. The first of them follows eight bytes that name the format.
 */
final class LogTail {
  private static final System.Logger LOG = System.getLogger("io.fovea.ratis");
  private static final byte[] HEADER = "RaftLog1".getBytes(StandardCharsets.US_ASCII);
  private static final int CHECKSUM_BYTES = 4;

  /** The most bytes of a length. */
  private static final int VARINT_BYTES = 5;

  private static final ValueLayout.OfInt CHECKSUM =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  /** Of a field of protobuf, by the lowest bits of its tag. */
  private static final int WIRE_TYPES = 7;

  private static final int NUMBER = 0;
  private static final int BYTES = 2;

  /**
   * An entry that was written in part.
   *
   * @param at where it begins
   * @param checksum where its checksum is
   * @param right what its checksum is, if all before it is whole
   * @param complete whether only a byte of the checksum is missing
   * @param written where the zeros begin that end the file
   */
  private record Part(long at, long checksum, int right, boolean complete, long written) {
    static Part dropped(long at, long written) {
      return new Part(at, 0, 0, false, written);
    }
  }

  private LogTail() {}

  /**
   * Mends the end of the log, if it has to be. Before Ratis reads it.
   *
   * @param log the directory of Ratis
   * @param group the group's id
   * @param self the name of this peer
   * @return whether the last entry was written in part
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
              + " was written in part: "
              + file
              + ", bytes "
              + part.at()
              + " to "
              + part.written()
              + ". "
              + (part.complete()
                  ? "Its checksum was completed."
                  : "It was dropped; the peer had not answered for it."));
      return true;
    }
  }

  /** The last entry, if it was written in part and nothing is behind it; null otherwise. */
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
        // The end of the file cuts the number itself, which Ratis refuses.
        return bytes.byteSize() - at < VARINT_BYTES ? Part.dropped(at, written) : null;
      }
      long most = bytes.byteSize() - length.end - CHECKSUM_BYTES;
      if (length.value < 0 || length.value > most) {
        // Ratis ignores what the end of the file cuts, but reads a cut number in its own way, and
        // would drop all that is behind a damaged one.
        if (written <= length.end) {
          return Part.dropped(at, written);
        }
        if (!isAsLong(bytes, length.end, written, length.end + length.value)) {
          throw new IOException(
              "The log is damaged at byte "
                  + at
                  + ": the length of an entry is not the one that the entry says of itself.");
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

  /** Whether of a checksum the first bytes were written, which may be none, and no more. */
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
   * Whether an entry says of itself that it is as long as the number before it says: else that
   * number is damaged, and whole entries may be behind it. An entry is a protobuf of term, index
   * and one field of many bytes, which ends it ({@code LogEntryProto}).
   *
   * @param at where the entry begins, behind its length
   * @param written where what was written ends; what is not there contradicts nothing
   * @param end where the entry ends by its length
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
   * A number of protobuf: seven bits a byte, the lowest first, and a bit that says that more
   * follow.
   *
   * @param end behind it
   */
  private record Varint(long value, long end) {
    /** The one at a position; null if it does not end before a limit. */
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
