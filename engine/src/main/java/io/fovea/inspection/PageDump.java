package io.fovea.inspection;

import io.fovea.btree.NodeView;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A page in decoded form: its header, and its contents according to its type. */
final class PageDump {
  private final MemorySegment page;
  private final int pageSize;
  private final Map<String, @Nullable Object> out = new LinkedHashMap<>();

  private PageDump(MemorySegment page, int pageSize) {
    this.page = page;
    this.pageSize = pageSize;
  }

  /**
   * Decodes a page, which need not be whole.
   *
   * @param page its bytes
   * @param pid the page id from which it was read
   */
  static Map<String, @Nullable Object> of(MemorySegment page, int pageSize, long pid) {
    PageDump dump = new PageDump(page, pageSize);
    try {
      dump.decode(pid);
    } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
      dump.out.put("damaged", String.valueOf(e.getMessage()));
    }
    return dump.out;
  }

  static String typeName(int type) {
    return switch (type) {
      case PageHeader.NEVER_WRITTEN -> "never written";
      case PageHeader.SUPERBLOCK -> "superblock";
      case PageHeader.INNER -> "inner node";
      case PageHeader.LEAF -> "leaf";
      case PageHeader.OVERFLOW -> "part of a long value";
      case PageHeader.FREE -> "free";
      default -> "unknown type " + type;
    };
  }

  private void decode(long pid) {
    int type = PageHeader.type(page, 0);
    // A superblock's checksum covers its first 4096 bytes, for every page size.
    int summed = type == PageHeader.SUPERBLOCK && pid < 2 ? Math.min(pageSize, 4096) : pageSize;
    int expected = PageHeader.sum(page, 0, summed);
    boolean valid = PageHeader.checksum(page, 0) == expected;
    boolean nothing = Mem.isZero(page, 0, pageSize);
    out.put("page", pid);
    out.put("fileOffset", pid * pageSize);
    out.put("type", typeName(type));
    out.put("checksum", hex(PageHeader.checksum(page, 0)));
    out.put("checksumExpected", hex(expected));
    out.put("whole", nothing || valid && PageHeader.pid(page, 0) == pid);
    out.put("layout", PageHeader.layout(page, 0));
    out.put("level", PageHeader.level(page, 0));
    out.put("pageId", PageHeader.pid(page, 0));
    out.put("pageLsn", PageHeader.pageLsn(page, 0));
    out.put("treeId", PageHeader.treeId(page, 0));
    NodeView node = new NodeView(pageSize).load(page, 0);
    switch (type) {
      case PageHeader.LEAF, PageHeader.INNER -> node(node);
      case PageHeader.OVERFLOW -> {
        out.put("next", node.partNext());
        out.put("bytes", node.partBytes());
        out.put("index", node.partIndex());
      }
      case PageHeader.FREE -> out.put("next", node.freeNext());
      default -> {}
    }
  }

  private static String hex(int sum) {
    return String.format("0x%08x", sum);
  }

  private void node(NodeView node) {
    out.put("count", node.count());
    out.put("prefix", node.prefix());
    out.put("usedBytes", node.usedBytes());
    out.put("capacityBytes", node.capacityBytes());
    out.put("deadBytes", node.dead());
    if (node.isLeaf()) {
      out.put("next", node.next());
      out.put("prev", node.prev());
    }
    if (!node.isSane()) {
      throw new IndexOutOfBoundsException("the entries do not fit the page");
    }
    out.put("lowFence", node.lowFence());
    out.put("highFence", node.highFence());
    List<Map<String, @Nullable Object>> entries = new ArrayList<>();
    out.put("entries", entries);
    for (int i = 0; i < node.count(); i++) {
      Map<String, @Nullable Object> e = new LinkedHashMap<>();
      e.put("slot", i);
      e.put("key", node.key(i));
      if (!node.isLeaf()) {
        e.put("child", node.child(i));
      } else if (node.isLong(i)) {
        e.put("firstPage", node.longPid(i));
        e.put("valueBytes", node.longBytes(i));
      } else {
        e.put("value", node.value(i));
      }
      entries.add(e);
    }
    if (!node.isLeaf()) {
      out.put("upperChild", node.child(node.count()));
    }
  }
}
