package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.LoadSource;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.SimDatabase;
import io.fovea.TableLoad;
import io.fovea.VerifyReport;
import io.fovea.buffer.PageHeader;
import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.DurabilityLostException;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import io.fovea.support.SimDisk;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Pages with specific damage and a valid checksum. Reads and writes that reach the page fail with a
 * {@link CorruptionException} that names it, verify finds it, and no loop is endless. {@link
 * HostileTest} covers random damage.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("slow")
@ParameterizedClass
@MethodSource("kinds")
class DamagedPagesTest {
  private static final int PAGE = PageForger.PAGE;

  private static final boolean PAGES_MANY = Integer.getInteger("crash.pages", 0) > 0;

  /** Returns a database that contains every kind of node that is damaged here. */
  private static final long SEED = 1;

  private static DeepTreeFixture.Base clean;
  private static long root;

  /** The number of records that a full scan returns. */
  private static int records;

  /** The translation under which the damaged file is opened. */
  @Parameter Translation kind;

  /** Returns all translations in the long form. */
  static List<Translation> kinds() {
    return Arrays.stream(Translation.values())
        .filter(k -> k == Translation.PREDICTIVE || PAGES_MANY || CrashTest.OTHERS.contains(k))
        .toList();
  }

  @BeforeAll
  static void make() {
    clean = DeepTreeFixture.make(true, SEED);
    Session s = new Session(clean.disk().copy(), Session.small(), false, clean.state());
    s.open();
    root = SimDatabase.root(s.db(), "bytes");
    records = scan(s.db(), ScanOrder.ASCENDING);
    s.abandon();
  }

  /** Returns inner nodes with a parent and inner children, in the deep table's tree. */
  private static LongStream middles(PageForger f) {
    int n = f.load(root).count();
    return LongStream.of(IntStream.rangeClosed(0, n).mapToLong(f::child).toArray())
        .filter(pid -> f.load(pid).count() > 2);
  }

  /** Returns the last one: the keys that are written are below it. */
  private static long middle(PageForger f) {
    return middles(f).reduce((a, b) -> b).orElseThrow();
  }

  private Session open(SimDisk disk) {
    Session s = new Session(disk, Session.small(kind), false, clean.state());
    s.open();
    return s;
  }

  private static int scan(Database db, ScanOrder order) {
    RowTable t = db.table(clean.state().tables.get("bytes").spec("bytes"));
    return db.read(
        tx -> {
          int n = 0;
          try (Cursor<byte[], byte[]> c = t.bytes().scan(tx, null, null, order)) {
            while (c.next()) {
              c.value();
              n++;
            }
          }
          return n;
        });
  }

  /** Adds records until every leaf has split or a split fails. */
  private static void write(Database db) {
    RowTable t = db.table(clean.state().tables.get("bytes").spec("bytes"));
    for (int i = 0; i < 220; i++) {
      byte[] key = DeepTreeFixture.key(i).bytes();
      for (int k = 0; k < 3; k++) {
        byte[] more = Arrays.copyOf(key, key.length + 1);
        more[key.length] = (byte) ('0' + k);
        db.run(tx -> t.bytes().put(tx, more, new byte[900]));
      }
    }
  }

  private static void assertNames(CorruptionException e, long pid) {
    assertEquals(pid, e.pid(), e::toString);
    assertEquals(pid * PAGE, e.fileOffset(), e::toString);
  }

  /**
   * Requires that a scan reports a damaged inner node. If everything is in memory the scan follows
   * leaves and may never reach the node; then its result must be right.
   */
  private void assertScanNames(Database db, ScanOrder order, long pid) {
    int met;
    try {
      met = scan(db, order);
    } catch (CorruptionException e) {
      assertNames(e, pid);
      return;
    }
    assertEquals(Translation.DIRECT, kind, "the scan did not detect the damage");
    assertEquals(records, met);
  }

  private static void assertNoticed(Database db) {
    VerifyReport report = db.verify();
    assertFalse(report.ok());
    assertFalse(report.problems().stream().anyMatch(p -> p.contains("segment")), report::toString);
  }

  /** Checks the base: without damage everything works. */
  @Test
  void nothingDamaged() {
    Session s = open(clean.disk().copy());
    s.check();
    assertTrue(scan(s.db(), ScanOrder.ASCENDING) > 150);
    write(s.db());
    assertTrue(s.db().verify().ok());
    s.abandon();
  }

  /** Regression: a commit split such a node endlessly, with its locks held. */
  @Test
  void aChildOfTheSameLevel() {
    SimDisk disk = clean.disk().copy();
    PageForger f = new PageForger(disk, new StringBuilder());
    long pid = middle(f);
    long other = middles(f).filter(p -> p != pid).findFirst().orElseThrow();
    f.load(pid).setChild(1, other);
    f.store(pid);
    Session s = open(disk);
    for (ScanOrder order : ScanOrder.values()) {
      assertScanNames(s.db(), order, other);
    }
    assertNames(assertThrows(CorruptionException.class, () -> write(s.db())), other);
    assertNoticed(s.db());
    s.abandon();
  }

  @Test
  void aChildThatIsItsParent() {
    for (int level = 1; level <= 2; level++) {
      SimDisk disk = clean.disk().copy();
      PageForger f = new PageForger(disk, new StringBuilder());
      long pid = level == 1 ? middle(f) : root;
      f.load(pid).setChild(0, pid);
      f.store(pid);
      Session s = open(disk);
      assertScanNames(s.db(), ScanOrder.ASCENDING, pid);
      assertNames(assertThrows(CorruptionException.class, () -> write(s.db())), pid);
      assertNoticed(s.db());
      s.abandon();
    }
  }

  @Test
  void aChildThatIsNoPage() {
    for (long child : new long[] {0, 1, 1L << 30, -1}) {
      SimDisk disk = clean.disk().copy();
      PageForger f = new PageForger(disk, new StringBuilder());
      long pid = middle(f);
      f.load(pid).setChild(1, child);
      f.store(pid);
      Session s = open(disk);
      for (ScanOrder order : ScanOrder.values()) {
        assertScanNames(s.db(), order, pid);
      }
      assertNames(assertThrows(CorruptionException.class, () -> write(s.db())), pid);
      assertNoticed(s.db());
      s.abandon();
    }
  }

  /** Regression: recovery inserted below such a node and never ended. */
  @Test
  void recoveryReachesAChildOfTheSameLevel() {
    int noticed = 0;
    // Pages with an image in the log are restored without the damage being noticed, so some bases
    // show none.
    for (long seed = SEED; noticed == 0 && seed < SEED + 8; seed++) {
      noticed = childrenOfTheSameLevel(DeepTreeFixture.make(false, seed));
    }
    assertTrue(noticed > 0, "no recovery reached a damaged page");
  }

  /** Returns how many openings detect a node whose children are itself. */
  private int childrenOfTheSameLevel(DeepTreeFixture.Base killed) {
    int noticed = 0;
    for (long pid : new PageForger(killed.disk(), new StringBuilder()).find(PageHeader.INNER, -1)) {
      SimDisk one = killed.disk().copy();
      PageForger g = new PageForger(one, new StringBuilder());
      int n = g.load(pid).count();
      for (int i = 0; i <= n; i++) {
        g.setChild(i, pid);
      }
      g.store(pid);
      try {
        Session s = new Session(one, Session.small(kind), false, killed.state());
        s.open();
        if (s.db().verify().ok()) {
          s.check(); // the log had an image of the page
        }
        s.abandon();
      } catch (CorruptionException e) {
        assertNames(e, pid);
        noticed++;
      }
    }
    return noticed;
  }

  /**
   * Records beyond the count are invisible. Regression: when the last visible record was deleted,
   * the leaf was reinitialized and the others were lost without an error.
   */
  @Test
  void aLeafWithARecordCountOfOne() {
    assumeTrue(kind == Translation.PREDICTIVE || PAGES_MANY, "only in the long form");
    int noticed = 0;
    Sample sample = Sample.oneOf(3);
    int leaf = 0;
    for (boolean remove : new boolean[] {true, false}) {
      for (long pid : new PageForger(clean.disk(), new StringBuilder()).find(PageHeader.LEAF, 0)) {
        SimDisk one = sample.has(leaf++) ? withOneRecord(clean.disk(), pid) : null;
        if (one == null) {
          continue;
        }
        Session s = open(one);
        RowTable t = s.db().table(clean.state().tables.get("bytes").spec("bytes"));
        boolean stopped = false;
        for (int i = 0; i < 220; i++) {
          byte[] key = DeepTreeFixture.key(i).bytes();
          try {
            s.db()
                .run(
                    tx -> {
                      if (remove) {
                        t.bytes().delete(tx, key);
                      } else if (t.bytes().get(tx, key) != null) {
                        t.bytes().put(tx, key, new byte[1000]);
                      }
                    });
          } catch (DurabilityLostException e) {
            // The change of the leaf is already logged, so the database stops there.
            assertNames(assertInstanceOf(CorruptionException.class, e.getCause()), pid);
            stopped = true;
            noticed++;
            break;
          }
        }
        if (!stopped) {
          assertNoticed(s.db());
        }
        s.abandon();
      }
    }
    Sample.requireMet(noticed, 3, "leaves detected");
  }

  @Test
  void recoveryReachesALeafWithARecordCountOfOne() {
    assumeTrue(kind == Translation.PREDICTIVE || PAGES_MANY, "only in the long form");
    int noticed = 0;
    // As in recoveryReachesAChildOfTheSameLevel.
    for (long seed = SEED; noticed == 0 && seed < SEED + 8; seed++) {
      noticed = leavesWithOneRecord(DeepTreeFixture.make(false, seed));
    }
    assertTrue(noticed > 0, "no recovery reached a damaged page");
  }

  /** Returns how many openings detect a leaf with a record count of one. */
  private int leavesWithOneRecord(DeepTreeFixture.Base killed) {
    int noticed = 0;
    for (long pid : new PageForger(killed.disk(), new StringBuilder()).find(PageHeader.LEAF, 0)) {
      SimDisk one = withOneRecord(killed.disk(), pid);
      if (one == null) {
        continue;
      }
      try {
        Session s = new Session(one, Session.small(kind), false, killed.state());
        s.open();
        if (s.db().verify().ok()) {
          s.check(); // the log had an image of the page
        }
        s.abandon();
      } catch (CorruptionException e) {
        assertNames(e, pid);
        noticed++;
      }
    }
    return noticed;
  }

  private static @Nullable SimDisk withOneRecord(SimDisk disk, long pid) {
    SimDisk one = disk.copy();
    PageForger f = new PageForger(one, new StringBuilder());
    if (f.load(pid).count() < 2) {
      return null;
    }
    f.setCount(1);
    f.store(pid);
    return one;
  }

  /** Regression: a scan found the record, a search did not, and the read was retried endlessly. */
  @Test
  void keysOutOfOrder() {
    SimDisk disk = clean.disk().copy();
    PageForger f = new PageForger(disk, new StringBuilder());
    // A record between two with different heads; the base has one for any seed.
    long leaf = -1;
    int at = 0;
    for (long pid : f.find(PageHeader.LEAF, 0)) {
      for (int i = 1, n = f.load(pid).count(); i < n - 1 && leaf < 0; i++) {
        if (f.isLong(i)
            && f.slot(i) >>> 32 != f.slot(i - 1) >>> 32
            && f.slot(i) >>> 32 != f.slot(i + 1) >>> 32) {
          leaf = pid;
          at = i;
        }
      }
    }
    assertTrue(leaf >= 0, "no leaf has such a record");
    f.load(leaf);
    f.setSlot(at, f.slot(at) | 0xFFFF_FFFFL << 32);
    f.store(leaf);
    long damaged = leaf;
    Session s = open(disk);
    for (ScanOrder order : ScanOrder.values()) {
      CorruptionException e =
          assertThrows(
              CorruptionException.class,
              () -> State.read(s.db(), clean.state(), clean.state().trees()));
      assertNames(e, damaged);
    }
    assertNoticed(s.db());
    s.abandon();
  }

  /**
   * The heads are in order, but one has bytes after the key's end, so a scan finds a key that no
   * search finds. Regression: this looked like a conflict, and the read was retried endlessly.
   */
  @Test
  void aKeyThatNoSearchFinds() {
    PageForger all = new PageForger(clean.disk(), new StringBuilder());
    int tried = 0;
    for (long leaf : all.find(PageHeader.LEAF, 0)) {
      int n = all.load(leaf).count();
      for (int i = 0; i < n; i++) {
        if (all.load(leaf).isLong(i) && ((int) all.slot(i) & 0xFFFF) < 4) {
          SimDisk disk = clean.disk().copy();
          PageForger f = new PageForger(disk, new StringBuilder()).load(leaf);
          f.setSlot(i, f.slot(i) | 1L << 32);
          f.store(leaf);
          Session s = open(disk);
          assertNames(
              assertThrows(CorruptionException.class, () -> scan(s.db(), ScanOrder.ASCENDING)),
              leaf);
          assertNoticed(s.db());
          s.abandon();
          tried++;
        }
      }
    }
    assertTrue(tried > 0, "no leaf has such a head");
  }

  /** Regression: a negative link was treated as a changed leaf, until the timeout. */
  @Test
  void aNegativeLink() {
    for (long next : new long[] {-1, Long.MIN_VALUE, 0, 1, 1L << 33}) {
      SimDisk disk = clean.disk().copy();
      PageForger f = new PageForger(disk, new StringBuilder());
      long part =
          f.find(PageHeader.OVERFLOW, -1).stream()
              .filter(pid -> f.load(pid).chainIndex() == 1 && inUse(f, pid))
              .findFirst()
              .orElseThrow();
      f.load(part).setChainNext(next);
      f.store(part);
      Session s = open(disk);
      CorruptionException e =
          assertThrows(
              CorruptionException.class,
              () -> State.read(s.db(), clean.state(), clean.state().trees()));
      assertNames(e, part);
      assertNoticed(s.db());
      s.abandon();
    }
  }

  /** Returns whether a page of a long value has a successor. */
  private static boolean inUse(PageForger f, long pid) {
    return f.load(pid).chainNext() > 0;
  }

  /** A key that is longer than the table's keys must not leave the cursor's memory. */
  @Test
  void anOversizedKey() {
    PageForger all = new PageForger(clean.disk(), new StringBuilder());
    int tried = 0;
    int met = 0;
    for (long leaf : all.find(PageHeader.LEAF, 0)) {
      if (leaf == 2 || all.load(leaf).count() <= 3 || tried++ % 3 != 0) {
        continue;
      }
      SimDisk disk = clean.disk().copy();
      PageForger f = new PageForger(disk, new StringBuilder()).load(leaf);
      f.setSlot(3, f.slot(3) & ~0xFFFFL | 512);
      f.store(leaf);
      Session s = open(disk);
      assertNames(
          assertThrows(
              CorruptionException.class,
              () -> State.read(s.db(), clean.state(), clean.state().trees())),
          leaf);
      assertNoticed(s.db());
      if (isReached(s.db())) {
        assertLoadsName(s.db(), leaf);
        met++;
      }
      s.abandon();
    }
    assertTrue(tried > 3);
    assertTrue(met > 0, "no leaf of the table was tried");
  }

  private static boolean isReached(Database db) {
    try {
      scan(db, ScanOrder.ASCENDING);
      return false;
    } catch (CorruptionException e) {
      return true;
    }
  }

  /** Requires that readers without a transaction detect a damaged leaf. */
  private static void assertLoadsName(Database db, long leaf) {
    TableSpec spec = clean.state().tables.get("bytes").spec("bytes");
    IndexSpec more =
        IndexSpec.bytes(
            "more",
            KeySpec.of(FieldType.INT32),
            false,
            (key, value, entry) -> {
              entry.int32(value.length);
              return true;
            });
    assertNames(
        assertThrows(CorruptionException.class, () -> db.table(spec.with(more)), "an index"), leaf);
    LoadSource<TableLoad<byte[], byte[]>, RuntimeException> one =
        into -> into.add(new byte[] {-1}, new byte[1]);
    assertNames(
        assertThrows(CorruptionException.class, () -> db.table(spec).bytes().load(one), "a load"),
        leaf);
  }
}
