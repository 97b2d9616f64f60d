package io.fovea.copies;

import io.fovea.io.BlockDevice;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The limits of page copies for snapshots.
 *
 * @param memoryBytes the maximum memory in bytes, at least a page
 * @param fileBytes the maximum size of the file in bytes; 0 for no file
 * @param file creates the file; returns null if that is not possible
 * @param delete deletes the file after it was closed
 */
public record CopyLimits(
    long memoryBytes, long fileBytes, Supplier<@Nullable BlockDevice> file, Runnable delete) {

  /** Returns limits with memory only. */
  public static CopyLimits memory(long bytes) {
    return new CopyLimits(bytes, 0, () -> null, () -> {});
  }
}
