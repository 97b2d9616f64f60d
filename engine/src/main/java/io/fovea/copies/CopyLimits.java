package io.fovea.copies;

import io.fovea.io.BlockDevice;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What copies for snapshots may take.
 *
 * @param memoryBytes of memory, at least a page
 * @param fileBytes of a file; 0 for no file
 * @param file makes the file; null where there is none to be had
 * @param delete removes it, after it was closed
 */
public record CopyLimits(
    long memoryBytes, long fileBytes, Supplier<@Nullable BlockDevice> file, Runnable delete) {

  /** So much memory, and no file. */
  public static CopyLimits memory(long bytes) {
    return new CopyLimits(bytes, 0, () -> null, () -> {});
  }
}
