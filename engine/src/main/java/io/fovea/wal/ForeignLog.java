package io.fovea.wal;

import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The file of a log that another process may have open, to read what is durable in it. Nothing is
 * written, and that process knows nothing of it.
 *
 * <pre>
 *   look()   headers of all slots ──► segments, by number
 *            groups of the last one ──► how far it is proven, how far whole ──► durable
 *
 *   | segment 6 │ next: 7 | segment 7: group │ group │ group of now, half written |
 *     durable: all of it                     │ whole: durable after the sync
 * </pre>
 *
 * <p><b>How far it is durable.</b> The writer begins a segment only when everything before it is
 * durable, and a group says up to where everything was when it was put together. What lies behind
 * that in the last segment counts if all of its records are there, without a gap: whether the
 * writer has synced it nobody knows from outside, so that is done here. A sync makes durable what
 * other processes have written, too. It is done by a look that finds nothing else that is new, so
 * not beside a writer that is busy. Where it is not possible, the last groups wait for the next
 * one.
 *
 * <p><b>What may go wrong.</b> Nobody keeps the segments for who reads here.
 *
 * <ul>
 *   <li>A segment is used for another one while it is read. Each group names its segment's number,
 *       and each record's checksum is seeded with its LSN and the incarnation: what the slot has
 *       now is no record that was asked for. The reader finds damage.
 *   <li>Headers are read one after the other, and a slot is used again in between. Then segments
 *       are missing in what was found: where one ends, none begins, and the reader finds damage.
 *   <li>The other process ends, and the database is opened again. Its new segment begins where the
 *       last group ends or begins, which it has too. What was told of that group is in both.
 * </ul>
 *
 * <p>So damage may mean that this was too slow: whoever finds it looks again, and asks the
 * superblock from where on the log is kept. Nothing that was read without damage is wrong.
 *
 * <p>One thread.
 */
public final class ForeignLog implements DurableLog {
  private final BlockDevice device;
  private final UUID database;
  private final BooleanSupplier sync;
  private final Segments segments = new Segments();

  private List<SegmentSlots.Live> found = List.of();
  private long segmentBytes;

  /** What is whole of the last segment that was looked at: up to where, and where that ends. */
  private long number;

  private long whole;
  private long offset;

  /** Up to where the groups say that the log is durable. */
  private long proven;

  private long durable;

  /**
   * A log, of which nothing is known until {@link #look}.
   *
   * @param device its file, to be closed by whoever opened it
   * @param database whose log it must be
   * @param sync makes durable what is in the file, and says whether that was possible
   */
  public ForeignLog(BlockDevice device, UUID database, BooleanSupplier sync) {
    this.device = device;
    this.database = database;
    this.sync = sync;
  }

  /**
   * Looks how far the log is by now. Where it is farther than before, another look may find the
   * last group.
   *
   * @throws io.fovea.error.CorruptionException if the headers make no sense: damage, or they were
   *     read while they were written
   * @throws io.fovea.error.StorageException if the file can't be read
   */
  public void look() {
    SegmentScan scan = SegmentScan.of(device, database);
    List<SegmentSlots.Live> all = new ArrayList<>();
    for (SegmentScan.Found f : scan.segments()) {
      SegmentHeader h = f.header();
      all.add(new SegmentSlots.Live(f.slot(), h.number(), h.incarnation(), f.startLsn()));
    }
    found = all;
    segmentBytes = scan.segmentBytes();
    if (all.isEmpty()) {
      return;
    }
    try (ReadWindow window = new ReadWindow(device, Group.BLOCK)) {
      walk(all.getLast(), window);
    }
    if (proven <= durable && whole > durable && sync.getAsBoolean()) {
      durable = whole;
    } else {
      durable = Math.max(durable, proven);
    }
  }

  /**
   * Somebody knows that the log is durable up to a position, who has it from its writer or from
   * here. Counts as far as all records are there, and until the end is known better by itself.
   *
   * @param lsn the end of a record
   */
  public void durableUpTo(long lsn) {
    if (lsn <= whole) {
      durable = Math.max(durable, lsn);
    }
  }

  /** Goes over the groups of the last segment that were not there before. */
  private void walk(SegmentSlots.Live last, ReadWindow window) {
    if (last.number() != number) {
      number = last.number();
      offset = last.slot() * segmentBytes + Group.BLOCK;
      whole = last.startLsn();
      proven = last.startLsn();
    }
    long limit = (last.slot() + 1) * segmentBytes - Group.BLOCK;
    while (limit - offset >= Group.BLOCK) {
      long at = window.at(offset, Group.BLOCK, offset + Group.BLOCK);
      MemorySegment memory = window.memory();
      if (!Group.isValid(memory, at, database, last.incarnation(), last.number())
          || Group.start(memory, at) != whole) {
        return;
      }
      int payload = Group.payload(memory, at);
      int header = Group.header(memory, at);
      long said = Group.proven(memory, at);
      if (payload <= 0
          || (payload & 7) != 0
          || payload > Group.PAYLOAD_MAX
          || payload > limit - offset - header
          || !isWhole(window, header, payload, last.incarnation())) {
        return;
      }
      proven = Math.max(proven, said);
      whole += payload;
      offset += Group.fileBytes(header, payload);
    }
  }

  /** Whether all records of the group at {@link #offset} are there. */
  private boolean isWhole(ReadWindow window, int header, int payload, long incarnation) {
    long bytes = Group.fileBytes(header, payload);
    long at = window.at(offset, bytes, offset + bytes) + header;
    MemorySegment memory = window.memory();
    for (int done = 0; done < payload; ) {
      long word = Mem.getLong(memory, at + done);
      int length = Record.length(word);
      if (length != Record.WORD && length < Record.HEADER
          || Record.aligned(length) > payload - done
          || Record.sum(window.sums(), at + done, whole + done, incarnation, length)
              != Record.checksum(word)) {
        return false;
      }
      done += (int) Record.aligned(length);
    }
    return true;
  }

  /** As of the last {@link #look}. */
  @Override
  public long durableLsn() {
    return durable;
  }

  /**
   * How far all records are there, durable or not, as of the last {@link #look}; 0 if nothing was
   * found yet.
   */
  public long wholeLsn() {
    return Math.max(whole, durable);
  }

  /** Where the oldest segment begins that is there, as of the last {@link #look}; 0 for none. */
  public long firstLsn() {
    return found.isEmpty() ? 0 : found.getFirst().startLsn();
  }

  @Override
  public DurableRecords records() {
    return new DurableRecords(device, segments);
  }

  /** As of the last {@link #look}. A pin holds nothing. */
  private final class Segments implements LogSegments {
    @Override
    public UUID database() {
      return database;
    }

    @Override
    public long segmentBytes() {
      return segmentBytes;
    }

    @Override
    public long durableLsn() {
      return durable;
    }

    @Override
    public boolean pin(long lsn) {
      return !found.isEmpty() && firstLsn() <= lsn;
    }

    @Override
    public void unpin(long lsn) {
      // Nothing was held.
    }

    @Override
    public boolean find(long lsn, SegmentSlots.@Nullable Live[] out) {
      out[0] = null;
      out[1] = null;
      for (SegmentSlots.Live segment : found) {
        if (segment.startLsn() <= lsn) {
          out[0] = segment;
        } else {
          out[1] = segment;
          break;
        }
      }
      return out[0] != null;
    }

    @Override
    public long firstLsn() {
      return ForeignLog.this.firstLsn();
    }
  }
}
