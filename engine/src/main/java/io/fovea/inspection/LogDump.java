package io.fovea.inspection;

import io.fovea.btree.KeyRange;
import io.fovea.btree.StructureRecord;
import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.FreeListRecord;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageImages;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.recovery.CountsRecord;
import io.fovea.recovery.LoadedRecord;
import io.fovea.recovery.RangeRecord;
import io.fovea.recovery.SchemaRecord;
import io.fovea.recovery.TablesLog;
import io.fovea.txn.CommitCounts;
import io.fovea.txn.CommitCursor;
import io.fovea.txn.CommitRecord;
import io.fovea.wal.LogReader;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Formats log records as structured text. Used by one thread. */
final class LogDump {
  private final int pageSize;
  private final boolean all;
  private final CommitCursor commit = new CommitCursor();
  private final CommitCounts counts = new CommitCounts();
  private final SchemaRecord schema = new SchemaRecord();

  /**
   * Creates a decoder.
   *
   * @param all whether to include the bytes of each record
   */
  LogDump(int pageSize, boolean all) {
    this.pageSize = pageSize;
    this.all = all;
  }

  void decode(LogReader r, Map<String, @Nullable Object> out) {
    out.put("type", RecordType.name(r.type()));
    out.put("bytes", r.bodyLength());
    try {
      body(r, out);
    } catch (CorruptionException | IndexOutOfBoundsException e) {
      out.put("damaged", String.valueOf(e.getMessage()));
    }
    if (all) {
      out.put("body", Mem.bytes(r.segment(), r.body(), r.bodyLength()));
    }
  }

  private void body(LogReader r, Map<String, @Nullable Object> out) {
    MemorySegment s = r.segment();
    long at = r.body();
    switch (r.type()) {
      case RecordType.COMMIT, RecordType.COMMIT_PART -> {
        commit.open(r.type(), s, at, r.bodyLength());
        out.put("commitId", commit.id());
        out.put("ops", ops());
        pids(out, "adopted", commit.adopted(), commit::adopted);
        pids(out, "released", commit.released(), commit::released);
        if (counts.open(commit)) {
          out.put("context", counts.context());
          out.put("counts", deltas());
        }
      }
      case RecordType.COUNTS -> counts(r, out);
      case RecordType.LOADED ->
          LoadedRecord.read(
              s,
              at,
              r.bodyLength(),
              r.start(),
              (treeId, records, bytes) -> {
                out.put("treeId", treeId);
                out.put("records", records);
                out.put("dataBytes", bytes);
              });
      case RecordType.STRUCTURE, RecordType.CHAIN -> structure(r, out);
      case RecordType.CREATE_TREE -> {
        out.put("treeId", StructureRecord.treeId(s, at, r.bodyLength(), r.start()));
        structure(r, out);
      }
      case RecordType.DROPPED ->
          out.put("treeId", StructureRecord.treeId(s, at, r.bodyLength(), r.start()));
      case RecordType.ALLOCATE, RecordType.FREE -> {
        AllocatorRecord a = AllocatorRecord.parse(r.type(), s, at, r.bodyLength());
        out.put("page", a.pid());
        if (r.type() == RecordType.ALLOCATE) {
          out.put("treeId", a.treeId());
          out.put("for", PageDump.typeName(a.pageType()));
        } else {
          out.put("next", a.next());
        }
        out.put("freeHead", a.after().freeHead());
        out.put("freePages", a.after().freePages());
        out.put("highWater", a.after().highWater());
      }
      case RecordType.MOVED, RecordType.TRUNCATED -> {
        List<Map<String, Object>> links = new ArrayList<>();
        AllocatorState after =
            FreeListRecord.visit(
                s, at, r.bodyLength(), (pid, next) -> links.add(Map.of("page", pid, "next", next)));
        out.put("links", links);
        out.put("freeHead", after.freeHead());
        out.put("freePages", after.freePages());
        out.put("highWater", after.highWater());
      }
      case RecordType.SCHEMA, RecordType.CATALOG -> schema(r, out);
      case RecordType.RANGE -> range(r, out);
      case RecordType.TABLES -> {
        long ops = at + TablesLog.HEADER;
        long n = r.bodyLength() < TablesLog.HEADER ? 0 : Mem.getInt(s, at) & 0xFFFF_FFFFL;
        commit.openOps(s, ops, at + r.bodyLength(), n);
        out.put("ops", ops());
      }
      default -> {}
    }
  }

  private static void range(LogReader r, Map<String, @Nullable Object> out) {
    RangeRecord record = new RangeRecord();
    record.open(r.segment(), r.body(), r.bodyLength(), r.start());
    KeyRange range = record.range();
    out.put("commitId", record.id());
    out.put("treeId", record.treeId());
    if (range.lowLength() >= 0) {
      out.put("from", Mem.bytes(range.low(), range.lowOffset(), range.lowLength()));
      out.put("fromInclusive", range.lowInclusive());
    }
    if (range.highLength() >= 0) {
      out.put("to", Mem.bytes(range.high(), range.highOffset(), range.highLength()));
      out.put("toInclusive", range.highInclusive());
    }
  }

  private List<Map<String, @Nullable Object>> deltas() {
    List<Map<String, @Nullable Object>> trees = new ArrayList<>();
    while (counts.next()) {
      Map<String, @Nullable Object> tree = new LinkedHashMap<>();
      tree.put("treeId", counts.treeId());
      tree.put("records", counts.records());
      tree.put("bytes", counts.bytes());
      trees.add(tree);
    }
    return trees;
  }

  private static void counts(LogReader r, Map<String, @Nullable Object> out) {
    CountsRecord counts = new CountsRecord();
    counts.open(r.segment(), r.body(), r.bodyLength(), r.start());
    out.put("from", counts.from());
    List<Map<String, @Nullable Object>> trees = new ArrayList<>();
    while (counts.next()) {
      Map<String, @Nullable Object> tree = new LinkedHashMap<>();
      tree.put("treeId", counts.treeId());
      tree.put("records", counts.records());
      tree.put("bytes", counts.bytes());
      Map<String, @Nullable Object> contexts = new LinkedHashMap<>();
      for (int i = 0; i < counts.contexts(); i++) {
        contexts.put(String.valueOf(counts.context(i)), counts.lsn(i));
      }
      tree.put("contexts", contexts);
      trees.add(tree);
    }
    out.put("counts", trees);
  }

  private void schema(LogReader r, Map<String, @Nullable Object> out) {
    schema.open(r.segment(), r.body(), r.bodyLength(), r.start());
    List<Integer> published = new ArrayList<>();
    for (int i = 0; i < schema.published(); i++) {
      published.add(schema.published(i));
    }
    List<Integer> dropped = new ArrayList<>();
    for (int i = 0; i < schema.dropped(); i++) {
      dropped.add(schema.droppedId(i));
    }
    out.put("published", published);
    out.put("dropped", dropped);
    commit.openOps(r.segment(), schema.opsBegin(), schema.opsEnd(), schema.ops());
    out.put("ops", ops());
    pids(out, "adopted", schema.adopted(), schema::adopted);
    pids(out, "released", schema.released(), schema::released);
  }

  private void structure(LogReader r, Map<String, @Nullable Object> out) {
    MemorySegment s = r.segment();
    List<Map<String, @Nullable Object>> images = new ArrayList<>();
    List<Long> released = new ArrayList<>();
    out.put("images", images);
    StructureRecord.visit(
        r.type(),
        s,
        r.body(),
        r.bodyLength(),
        pageSize,
        r.start(),
        new StructureRecord.Visitor() {
          @Override
          public void image(long pid, long at, long end) {
            Map<String, @Nullable Object> image = new LinkedHashMap<>();
            long page = at + PageImages.HEADER;
            image.put("page", pid);
            image.put("type", PageDump.typeName(PageHeader.type(s, page)));
            image.put("level", PageHeader.level(s, page));
            image.put("treeId", PageHeader.treeId(s, page));
            image.put("pageLsn", PageHeader.pageLsn(s, page));
            image.put("bytes", end - page);
            images.add(image);
          }

          @Override
          public void released(long pid) {
            released.add(pid);
          }
        });
    if (!released.isEmpty()) {
      out.put("released", released);
    }
  }

  private interface Pids {
    long get(long i);
  }

  private static void pids(Map<String, @Nullable Object> out, String name, long n, Pids pids) {
    if (n > 0) {
      List<Long> list = new ArrayList<>();
      for (long i = 0; i < n; i++) {
        list.add(pids.get(i));
      }
      out.put(name, list);
    }
  }

  private List<Map<String, @Nullable Object>> ops() {
    List<Map<String, @Nullable Object>> ops = new ArrayList<>();
    while (commit.next()) {
      Map<String, @Nullable Object> op = new LinkedHashMap<>();
      op.put("op", CommitRecord.name(commit.kind()));
      op.put("treeId", commit.treeId());
      op.put("key", Mem.bytes(commit.segment(), commit.keyOffset(), commit.keyLength()));
      switch (commit.kind()) {
        case CommitRecord.PUT -> op.put("value", value());
        case CommitRecord.PATCH -> {
          op.put("at", commit.patchAt());
          op.put("value", value());
        }
        case CommitRecord.CHAIN, CommitRecord.MOVED -> {
          op.put("firstPage", commit.first());
          op.put("valueBytes", commit.valueLength());
        }
        case CommitRecord.TABLE -> op.put("how", commit.tableEventKind());
        case CommitRecord.FROM -> op.put("from", commit.from());
        case CommitRecord.ADOPT, CommitRecord.RELEASE ->
            pids(op, "pages", commit.pages(), i -> commit.page((int) i));
        default -> {}
      }
      if (commit.leaf() != 0) {
        op.put("leaf", commit.leaf());
      }
      ops.add(op);
    }
    return ops;
  }

  private byte[] value() {
    return Mem.bytes(commit.segment(), commit.valueOffset(), commit.valueLength());
  }
}
