package io.fovea.streams;

import io.fovea.error.FoveaException;
import java.util.Map;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.query.FailureReason;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.jspecify.annotations.Nullable;

/**
 * Interactive queries. A result and its position describe the same state: the rows include
 * everything up to the position and nothing newer. So a bound that the position meets is met by the
 * rows.
 *
 * <p>Short results are read at once. Of a long one, the first rows are read at once and the others
 * on demand.
 *
 * <p>Thread-safe.
 */
final class Queries {
  /** The answer of a store that does not support a query. */
  static final Object UNKNOWN = new Object();

  private Queries() {}

  static <R> QueryResult<R> answer(
      AbstractStore store, int partition, Query<R> query, PositionBound bound, QueryConfig config) {
    long start = System.nanoTime();
    QueryResult<R> result = answer(store, partition, query, bound);
    if (config.isCollectExecutionInfo()) {
      result.addExecutionInfo(
          "Handled in " + store.getClass() + " in " + (System.nanoTime() - start) + "ns");
    }
    return result;
  }

  private static <R> QueryResult<R> answer(
      AbstractStore store, int partition, Query<R> query, PositionBound bound) {
    StoreView view = store.open().view(true);
    boolean kept = false;
    try {
      QueryResult<R> result;
      if (!isMet(bound.position(), view.position(), partition)) {
        result = QueryResult.notUpToBound(view.position(), bound, partition);
      } else {
        Object answer = store.answer(query, view);
        if (answer == UNKNOWN) {
          result = QueryResult.forUnknownQueryType(query, store);
        } else {
          if (answer instanceof StoreIterator<?> rows && !rows.readAhead()) {
            rows.onClose(view::close);
            kept = true;
          }
          result = QueryResult.forResult(Queries.<R>typed(answer));
        }
      }
      result.setPosition(view.position());
      return result;
    } catch (FoveaException | StreamsException e) {
      kept = false;
      return QueryResult.forFailure(
          FailureReason.STORE_EXCEPTION,
          "Store " + store.name() + " failed to answer " + query + ": " + e);
    } finally {
      if (!kept) {
        view.close();
      }
    }
  }

  @SuppressWarnings("unchecked") // a store answers with the type that the query names
  private static <R> R typed(@Nullable Object answer) {
    return (R) answer;
  }

  /** Returns whether a bound is met, as far as it concerns the partition. */
  private static boolean isMet(Position bound, Position seen, int partition) {
    for (String topic : bound.getTopics()) {
      Long least = bound.getPartitionPositions(topic).get(partition);
      Map<Integer, Long> there = seen.getPartitionPositions(topic);
      if (least != null && there.getOrDefault(partition, -1L) < least) {
        return false;
      }
    }
    return true;
  }
}
