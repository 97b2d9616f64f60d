package io.fovea.buffer;

import io.fovea.Markdown;
import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import java.util.Locale;

/**
 * Metadata of a pool by the size of the file: figure 12 of Zinsmeister et al., Predictive
 * Translation, SIGMOD 2026.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.buffer.MetadataBytes [FRAMES]
 * </pre>
 *
 * <p>As a percentage of the memory for pages. As in the paper, these are sums of sizes of {@link
 * MemoryPlan}, not measurements: header lines, buckets, the stack of free frames, the policy's
 * statistics. If the frame of a page is its page id, they include an entry of the system's page
 * table per page of the file. The write buffer, an eighth of a small pool and 1 MiB of a large one,
 * is excluded. The paper's column is its formula for vmcache: 8 bytes of state and an entry of the
 * page table per page of the file.
 */
public final class MetadataBytes {
  private static final int PAGE = 4096;
  private static final int FRAMES = 1 << 18;
  private static final int VMCACHE_BYTES = 16;

  private MetadataBytes() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    int frames = args.length > 0 ? Integer.parseInt(args[0]) : FRAMES;
    Translation[] kinds = Translation.values();
    Object[] columns = new Object[kinds.length + 1];
    System.arraycopy(kinds, 0, columns, 0, kinds.length);
    columns[kinds.length] = "the paper's vmcache";
    Markdown.head("file in pools, % of the pages' memory", columns);
    for (int pools : new int[] {1, 2, 5, 10, 20, 50, 100}) {
      Object[] cells = new Object[columns.length];
      for (int i = 0; i < kinds.length; i++) {
        cells[i] = cell(kinds[i], frames, pools);
      }
      cells[kinds.length] = percent((double) VMCACHE_BYTES * pools / PAGE);
      Markdown.line(pools, cells);
    }
  }

  private static String cell(Translation translation, int frames, int pools) {
    if (!Translator.isOwn(translation)) {
      MemoryPlan plan = MemoryPlan.of(PAGE, frames, translation, Replacement.SECOND_CHANCE);
      return percent((plan.bytes() - plan.headersAt()) / (double) plan.bufferAt());
    }
    if (translation == Translation.DIRECT && pools > 1) {
      return "no such file";
    }
    int each = MemoryPlan.grantBytes(PAGE, Replacement.SECOND_CHANCE) - PAGE;
    return percent((each + (double) MemoryPlan.FILE_PAGE_BYTES * pools) / PAGE);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f", 100 * share);
  }
}
