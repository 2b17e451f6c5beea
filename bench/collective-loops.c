/*
 * Collectives of an MPI library, timed as the OSU micro-benchmarks do: each call by itself, with a barrier between two
 * calls, and the average over the ranks. Prints a line for each: name, bytes, nanoseconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *in, *out;

static void call(const char *name, int count)
{
	if (!strcmp(name, "barrier"))
		MPI_Barrier(MPI_COMM_WORLD);
	else if (!strcmp(name, "broadcast"))
		MPI_Bcast(out, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	else
		MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	/* Arguments: name, bytes, calls, and so on. */
	for (int i = 1; i + 2 < argc; i += 3) {
		int bytes = atoi(argv[i + 1]), calls = atoi(argv[i + 2]);
		double spent = 0, all = 0;
		in = calloc(1, bytes + 8);
		out = calloc(1, bytes + 8);
		for (int n = -calls / 5; n < calls; n++) {
			double from = MPI_Wtime();
			call(argv[i], bytes / 8);
			if (n >= 0)
				spent += MPI_Wtime() - from;
			MPI_Barrier(MPI_COMM_WORLD);
		}
		MPI_Reduce(&spent, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (rank == 0)
			printf("%s %d %.1f\n", argv[i], bytes, all * 1e9 / calls / size);
		free(in);
		free(out);
	}
	MPI_Finalize();
	return 0;
}
