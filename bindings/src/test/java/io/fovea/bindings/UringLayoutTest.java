package io.fovea.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.GroupLayout;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Compares the constants of {@link UringLayout} with the layouts that jextract has generated. */
class UringLayoutTest {
  /** The prefix of a constant's name, and the structure that contains the field. */
  private static final Map<String, String> STRUCTURES =
      Map.of(
          "RING", "io_uring",
          "SQ", "io_uring_sq",
          "CQ", "io_uring_cq",
          "SQE", "io_uring_sqe",
          "CQE", "io_uring_cqe",
          "PARAMS", "io_uring_params",
          "PROBE_OP", "io_uring_probe_op",
          "PROBE", "io_uring_probe",
          "IOVEC", "iovec",
          "TIMESPEC", "__kernel_timespec");

  @Test
  void constantsEqualTheGeneratedLayouts() throws Exception {
    int compared = 0;
    for (Field constant : UringLayout.class.getDeclaredFields()) {
      if (!Modifier.isStatic(constant.getModifiers()) || constant.isSynthetic()) {
        continue;
      }
      assertEquals(generated(constant.getName()), constant.getLong(null), constant.getName());
      compared++;
    }
    assertTrue(compared > 40, () -> "constants of UringLayout");
  }

  private static long generated(String name) throws Exception {
    if (name.equals("SQ") || name.equals("CQ")) {
      return offset("io_uring", name.toLowerCase(Locale.ROOT));
    }
    String prefix =
        name.startsWith("PROBE_OP_") ? "PROBE_OP" : name.substring(0, name.indexOf('_'));
    String structure = STRUCTURES.get(prefix);
    String field = name.substring(prefix.length() + 1).toLowerCase(Locale.ROOT);
    return switch (field) {
      case "bytes" -> ((GroupLayout) type(structure).getMethod("layout").invoke(null)).byteSize();
      case "base", "len" ->
          structure.equals("iovec") ? offset(structure, "iov_" + field) : offset(structure, field);
      case "sec", "nsec" -> offset(structure, "tv_" + field);
      case "pad2" -> offset(structure, "__pad2");
      default -> offset(structure, field);
    };
  }

  private static long offset(String structure, String field) throws Exception {
    return (long) type(structure).getMethod(field + "$offset").invoke(null);
  }

  private static Class<?> type(String structure) throws Exception {
    return Class.forName("io.fovea.bindings.generated." + structure);
  }
}
