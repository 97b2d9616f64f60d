package io.fovea.tpcc.sweep;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Options with several values each, and their combinations. The first option varies slowest.
 * Options joined by a plus vary together, and the value {@link #NONE} omits one. Immutable.
 *
 * @param values by option name, in the given order
 */
record Matrix(Map<String, List<String>> values) {
  static final String NONE = "-";

  private static final String TOGETHER = "+";

  Matrix {
    values = new LinkedHashMap<>(values);
  }

  /**
   * Parses the values of {@code --vary}.
   *
   * @param options such as {@code threads=2,16,64} or {@code protocol+timestamps=sto+disk,occ+-}
   * @throws IllegalArgumentException with a message for the user
   */
  static Matrix parse(List<String> options) {
    Map<String, List<String>> values = new LinkedHashMap<>();
    List<String> seen = new ArrayList<>();
    for (String option : options) {
      int equals = option.indexOf('=');
      String names = option.substring(0, Math.max(0, equals)).replaceFirst("^--", "");
      List<String> list = List.of(option.substring(equals + 1).split(",", -1));
      int n = parts(names).size();
      if (!names.matches("[a-z][a-z-]*(\\+[a-z][a-z-]*)*")
          || list.stream().anyMatch(v -> parts(v).size() != n || parts(v).contains(""))) {
        throw new IllegalArgumentException(
            "'"
                + option
                + "' varies nothing: expected an option and values, such as threads=2,16, or several options"
                + " and as many values, such as protocol+timestamps=sto+disk,occ+-");
      }
      for (String name : parts(names)) {
        if (seen.contains(name)) {
          throw new IllegalArgumentException("--" + name + " is varied twice");
        }
        seen.add(name);
      }
      values.put(names, list);
    }
    return new Matrix(values);
  }

  private static List<String> parts(String joined) {
    return List.of(joined.split("\\" + TOGETHER, -1));
  }

  /** Returns all combinations, as values by single option. */
  List<Map<String, String>> cells() {
    List<Map<String, String>> cells = List.of(Map.of());
    for (Map.Entry<String, List<String>> option : values.entrySet()) {
      List<String> names = parts(option.getKey());
      List<Map<String, String>> more = new ArrayList<>();
      for (Map<String, String> cell : cells) {
        for (String value : option.getValue()) {
          Map<String, String> with = new LinkedHashMap<>(cell);
          for (int i = 0; i < names.size(); i++) {
            with.put(names.get(i), parts(value).get(i));
          }
          more.add(with);
        }
      }
      cells = more;
    }
    return cells;
  }

  List<String> names() {
    return values.keySet().stream().flatMap(n -> parts(n).stream()).toList();
  }

  /** Returns the values as given, after repetitions of {@code option} with the name. */
  String text(String option) {
    StringBuilder b = new StringBuilder();
    values.forEach(
        (n, v) -> b.append(' ').append(option).append(' ').append(n).append('=').append(list(v)));
    return b.toString();
  }

  private static String list(List<String> values) {
    return String.join(",", values);
  }

  static List<String> arguments(Map<String, String> cell) {
    List<String> args = new ArrayList<>();
    cell.forEach(
        (name, value) -> {
          if (!value.equals(NONE)) {
            args.add("--" + name + "=" + value);
          }
        });
    return args;
  }

  /** Returns the last option whose values are all numbers; null if there is none. */
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

  static String name(Map<String, String> cell) {
    List<String> values = cell.values().stream().filter(v -> !v.equals(NONE)).toList();
    return values.isEmpty() ? "run" : String.join("-", values).replaceAll("[^A-Za-z0-9.-]", "_");
  }
}
