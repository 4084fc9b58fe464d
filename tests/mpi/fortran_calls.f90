! SPDX-License-Identifier: MIT
! fortran_calls.f90 - calls of MPI from Fortran, for fortran.c: by mpif.h and by mpi_f08.

subroutine old_send(value, tag, dest) bind(c)
  use iso_c_binding, only: c_int
  implicit none
  include 'mpif.h'
  integer(c_int), value :: tag, dest
  integer(c_int) :: value
  integer :: error
  call mpi_ssend(value, 1, MPI_INTEGER, dest, tag, MPI_COMM_WORLD, error)
end subroutine old_send

function old_receive(tag, source) bind(c)
  use iso_c_binding, only: c_int
  implicit none
  include 'mpif.h'
  integer(c_int), value :: tag, source
  integer(c_int) :: old_receive
  integer :: error, status(MPI_STATUS_SIZE), received
  call mpi_recv(received, 1, MPI_INTEGER, source, tag, MPI_COMM_WORLD, status, error)
  if (error /= MPI_SUCCESS .or. status(MPI_TAG) /= tag .or. status(MPI_SOURCE) /= source) received = -1
  old_receive = received
end function old_receive

subroutine new_send(value, tag, dest) bind(c)
  use iso_c_binding, only: c_int
  use mpi_f08
  implicit none
  integer(c_int), value :: tag, dest
  integer(c_int) :: value
  type(MPI_Request) :: request
  call MPI_Issend(value, 1, MPI_INTEGER, dest, tag, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
end subroutine new_send

function new_receive(tag, source) bind(c)
  use iso_c_binding, only: c_int
  use mpi_f08
  implicit none
  integer(c_int), value :: tag, source
  integer(c_int) :: new_receive
  integer :: received
  type(MPI_Status) :: status
  call MPI_Recv(received, 1, MPI_INTEGER, source, tag, MPI_COMM_WORLD, status)
  if (status%MPI_TAG /= tag .or. status%MPI_SOURCE /= source) received = -1
  new_receive = received
end function new_receive

function begin_in_fortran() bind(c)
  use iso_c_binding, only: c_int
  use mpi_f08
  implicit none
  integer(c_int) :: begin_in_fortran
  integer :: level
  call MPI_Init_thread(MPI_THREAD_SINGLE, level)
  begin_in_fortran = merge(1, 0, level == MPI_THREAD_MULTIPLE)
end function begin_in_fortran

subroutine end_in_fortran() bind(c)
  implicit none
  include 'mpif.h'
  integer :: error, mine, total
  mine = 1
  call mpi_allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call mpi_finalize(error)
end subroutine end_in_fortran
