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
 * The durable part of a log that another process may have open. Nothing is written, and that
 * process does not know of the reader.
 *
 * <pre>
 *   update()   headers of all slots ──► segments, by number
 *            groups of the last one ──► how far proven, how far whole ──► durable
 *
 *   | segment 6 │ next: 7 | segment 7: group │ group │ group being written |
 *     durable: all of it                     │ whole: durable after the sync
 * </pre>
 *
 * <p><b>How far it is durable.</b> The writer begins a segment only when everything before it is
 * durable, and each group names the position that was durable when it was assembled. Later groups
 * of the last segment count if all of their records are present without a gap. Whether the writer
 * has synced them cannot be seen from outside, so this class syncs the file. It syncs only when a
 * call finds nothing else new, hence not while the writer is busy. If a sync is not possible, the
 * last groups wait for the next one.
 *
 * <p><b>Races.</b> The writer does not keep segments for a reader in another process.
 *
 * <ul>
 *   <li>A segment is reused while it is read. Each group names its segment's number and each
 *       record's checksum is seeded with its LSN and the incarnation, so the new contents never
 *       pass for the requested record. The reader finds damage.
 *   <li>A slot is reused while the headers are being read. Then a segment is missing: none begins
 *       where the previous one ends, and the reader finds damage.
 *   <li>The other process ends and the database is reopened. The new segment begins at the end of
 *       the last group, or at its start and then contains the same records.
 * </ul>
 *
 * <p>So damage may mean that the reader was too slow. The caller then calls {@link #update} again
 * and takes the start of the log from the superblock. Anything read without damage is correct.
 *
 * <p>Used by one thread.
 */
public final class ForeignLog implements DurableLog {
  private final BlockDevice device;
  private final UUID database;
  private final BooleanSupplier sync;
  private final Segments segments = new Segments();

  private List<SegmentSlots.Live> found = List.of();
  private long segmentBytes;

  /** The last segment visited: its number, the end of its whole groups, and their file offset. */
  private long number;

  private long whole;
  private long offset;

  /** The durable position that the groups name. */
  private long proven;

  private long durable;

  /**
   * Creates a view of a log, which is empty until {@link #update}.
   *
   * @param device the log's file; stays open for the caller to close
   * @param database the database that the log must belong to
   * @param sync syncs the file and returns whether that was possible
   */
  public ForeignLog(BlockDevice device, UUID database, BooleanSupplier sync) {
    this.device = device;
    this.database = database;
    this.sync = sync;
  }

  /**
   * Updates the durable position. If it advanced, another call may find the last group.
   *
   * @throws io.fovea.error.CorruptionException if the headers are inconsistent: damaged, or read
   *     while they were written
   * @throws io.fovea.error.StorageException if the file cannot be read
   */
  public void update() {
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
   * Raises the durable position to one that the writer, or an earlier call, has reported. A
   * position beyond {@link #wholeLsn} is ignored.
   *
   * @param lsn the end of a record
   */
  public void durableUpTo(long lsn) {
    if (lsn <= whole) {
      durable = Math.max(durable, lsn);
    }
  }

  /** Visits the new groups of the last segment. */
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

  /** Returns whether all records of the group at {@link #offset} are present. */
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

  /** Returns the durable position at the time of the last {@link #update}. */
  @Override
  public long durableLsn() {
    return durable;
  }

  /**
   * Returns the position up to which all records are present, durable or not, at the time of the
   * last {@link #update}; 0 if nothing was found yet.
   */
  public long wholeLsn() {
    return Math.max(whole, durable);
  }

  /**
   * Returns the start of the oldest segment that the last {@link #update} found; 0 if there is
   * none.
   */
  public long firstLsn() {
    return found.isEmpty() ? 0 : found.getFirst().startLsn();
  }

  @Override
  public DurableRecords records() {
    return new DurableRecords(device, segments);
  }

  /** The segments that the last {@link #update} found. A pin holds nothing back. */
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
      // A pin holds nothing back.
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
