package io.fovea.tpcc.sweep;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Options with several values each, and their combinations. The first option varies slowest. A
 * value.
 *
 * @param values by the options' names, in the order in which they were given
 */
record Matrix(Map<String, List<String>> values) {
  Matrix {
    values = new LinkedHashMap<>(values);
  }

  /**
   * Reads what stands after {@code --vary}.
   *
   * @param options such as {@code threads=2,16,64}
   * @throws IllegalArgumentException with a message for the user
   */
  static Matrix parse(List<String> options) {
    Map<String, List<String>> values = new LinkedHashMap<>();
    for (String option : options) {
      int equals = option.indexOf('=');
      String name = option.substring(0, Math.max(0, equals)).replaceFirst("^--", "");
      List<String> list = List.of(option.substring(equals + 1).split(",", -1));
      if (!name.matches("[a-z][a-z-]*") || list.contains("")) {
        throw new IllegalArgumentException(
            "'" + option + "' varies nothing: expected an option and values, such as threads=2,16");
      }
      if (values.put(name, list) != null) {
        throw new IllegalArgumentException("--" + name + " is varied twice");
      }
    }
    return new Matrix(values);
  }

  /** All combinations. */
  List<Map<String, String>> cells() {
    List<Map<String, String>> cells = List.of(Map.of());
    for (Map.Entry<String, List<String>> option : values.entrySet()) {
      List<Map<String, String>> more = new ArrayList<>();
      for (Map<String, String> cell : cells) {
        for (String value : option.getValue()) {
          Map<String, String> with = new LinkedHashMap<>(cell);
          with.put(option.getKey(), value);
          more.add(with);
        }
      }
      cells = more;
    }
    return cells;
  }

  /** The option, the last of those, all of whose values are numbers; null where there is none. */
  String axis() {
    String axis = null;
    for (Map.Entry<String, List<String>> option : values.entrySet()) {
      if (option.getValue().size() > 1
          && option.getValue().stream().allMatch(v -> v.matches("\\d+(\\.\\d+)?"))) {
        axis = option.getKey();
      }
    }
    return axis;
  }

  /** What a file of a cell is called. */
  static String name(Map<String, String> cell) {
    return cell.isEmpty()
        ? "run"
        : String.join("-", cell.values()).replaceAll("[^A-Za-z0-9.-]", "_");
  }
}
