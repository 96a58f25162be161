! The bandwidth of memory: gfortran bandwidth.f90 -lcpudyno && ./a.out
program bandwidth
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(c) :: cd_value
    real(c_double) :: median, minimum, maximum
    integer(c_int64_t) :: samples
    integer(c_int32_t) :: is_doubtful
  end type
  type, bind(c) :: cd_bandwidth
    integer(c_int32_t) :: threads
    type(cd_value) :: copy, scale, add, triad
  end type
  interface
    integer(c_int) function cd_memory_bandwidth(machine, threads, seconds, found) bind(c)
      import
      type(c_ptr), value :: machine
      integer(c_int32_t), value :: threads
      real(c_double), value :: seconds
      type(cd_bandwidth), intent(inout) :: found
    end function
    type(c_ptr) function cd_error_text() bind(c)
      import
    end function
  end interface
  type(cd_bandwidth) :: found
  character(kind=c_char, len=99), target :: name
  character(kind=c_char), pointer :: text(:)
  type(c_ptr) :: machine
  call get_command_argument(1, name)
  machine = merge(c_loc(name), c_null_ptr, len_trim(name) > 0) ! null: this one
  name = trim(name) // c_null_char
  if (cd_memory_bandwidth(machine, 0_c_int32_t, 10.0_c_double, found) /= 0) then
    call c_f_pointer(cd_error_text(), text, [2048])
    write (0, '(*(a))') 'error: ', text(:findloc(text, c_null_char, 1) - 1)
    error stop 1
  end if
  print '(i0, a, f0.1, a)', found%threads, ' threads, triad: ', found%triad%median / 1e9, ' GB/s'
end program
